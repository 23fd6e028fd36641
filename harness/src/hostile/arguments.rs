//! Rollback arguments: any bytes as a target, any bytes as a path.
//!
//! For all arguments, nothing panics; a refusal changes nothing; accepted arguments name a checkpoint of the
//! project and a path inside it; and nothing outside the project changes.

use super::targets::Judgement;
use super::{Fixture, StartingState, is_stored, project};
use herma_core::rollback_line::{Line, SyntaxError, Task, read};
use herma_model::answer::{Answer, Code};
use herma_model::{ByteString, Request};

/// Judges a line that is typed after `rollback`: an error must refer to a part of the line, and the target and
/// path in the line are judged.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge_line(typed: &[u8], state: &StartingState) -> Judgement {
    let arguments = Line::split(typed).and_then(|line| read(&line));
    match arguments.map(|arguments| arguments.task) {
        Err(SyntaxError { message, at }) if typed.get(at.clone()).is_none() => {
            Err(format!("{message}: {at:?} lies outside of the line"))
        }
        Err(_) => Ok(false.into()),
        Ok(Task::List) => Ok(true.into()),
        Ok(Task::Diff { target } | Task::Show { target }) => judge(&target, b"", state),
        Ok(Task::Restore { target, paths, .. }) => {
            let first = judge(&target, paths.first().map_or(b"", Vec::as_slice), state)?;
            for path in paths.iter().skip(1) {
                judge(&target, path, state)?;
            }
            Ok(first)
        }
    }
}

/// Judges one target and one path.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge(target: &[u8], path: &[u8], state: &StartingState) -> Judgement {
    let mut fixture = Fixture::new(state);
    let dir = project();
    let target = ByteString::from(target);
    let requests = [
        Request::Diff { dir: dir.clone(), target: target.clone() },
        Request::RestoreFile { dir: dir.clone(), target: target.clone(), path: path.into() },
        Request::Restore { dir, target: target.clone(), exact: true, force: false },
    ];
    // The list grows by a pre-restore checkpoint only when a restore is accepted.
    let mut listed = fixture.ids.len();
    let mut is_accepted = false;
    for request in requests {
        let failed = |why: String| Err(format!("{request:?}: {why}"));
        let asked = fixture.ask(&request)?;
        match asked.answer {
            Answer::Refused { code: Code::Io, message, .. } => {
                return failed(format!("refused as an internal error: {message}"));
            }
            Answer::Refused { message, .. } => {
                if asked.changed.iter().any(|path| is_stored(path)) {
                    return failed(format!("refused ({message}), but the store changed"));
                }
            }
            accepted => {
                is_accepted = true;
                if !names_a_checkpoint(&target, &fixture.ids, listed) {
                    return failed(format!("accepted: {accepted:?}"));
                }
                if let Answer::Restored(restored) = accepted
                    && let Some(id) = restored.safety
                {
                    fixture.ids.push(id);
                    listed += 1;
                }
            }
        }
    }
    Ok(is_accepted.into())
}

/// Whether the text is a number of the list or the beginning of exactly one id.
fn names_a_checkpoint(target: &ByteString, ids: &[String], listed: usize) -> bool {
    let Ok(text) = std::str::from_utf8(target) else { return false };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits && text.parse().is_ok_and(|number: usize| (1..=listed).contains(&number)) {
        return true;
    }
    let text = text.to_ascii_lowercase();
    text.len() >= 4 && ids.iter().filter(|id| id.starts_with(&text)).count() == 1
}

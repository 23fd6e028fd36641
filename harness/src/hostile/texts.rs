//! Texts from outside that need no store: shell commands, configurations, ignore files, and the lines of the
//! protocol.

use super::memory_disk::MemoryDisk;
use super::targets::Judgement;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::message::{Envelope, Hello, Message, Reply, request};
use crate::protocol::translate;
use herma_core::{Error, configuration, triggers};
use herma_model::Request;
use serde_json::Value;
use std::path::Path;

/// The answer of a classifier must point into the command, must not depend on a command before it that changes
/// nothing, and must be the same for a shell that is given the command.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge_command(bytes: &[u8]) -> Judgement {
    let Ok(command) = std::str::from_utf8(bytes) else { return Ok(false.into()) };
    let reasons = triggers::reasons(command);
    if let Some(reason) = reasons.iter().find(|reason| command.get(reason.range.clone()).is_none())
    {
        return Err(format!("{reason:?} does not lie in {command:?}"));
    }
    let is_harmful = |command: &str| !triggers::reasons(command).is_empty();
    let variant = format!("true\n{command}");
    if is_harmful(&variant) != is_harmful(command) {
        return Err(format!("{variant:?} and {command:?} have different answers"));
    }
    // In quotes a shell gets the same text, unless it ends them.
    if !command.contains(['\'', '\0']) && is_harmful(command) && !is_harmful(&in_shell(command)) {
        return Err(format!("{:?} changes nothing, but {command:?} does", in_shell(command)));
    }
    let is_readable = |why| !matches!(why, triggers::Why::Unreadable);
    Ok(reasons.iter().all(|reason| is_readable(reason.why)).into())
}

fn in_shell(command: &str) -> String {
    format!("sh -c '{command}'")
}

/// A configuration is read or refused; a refusal or warning names a position in the file.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge_configuration(bytes: &[u8]) -> Judgement {
    let disk = MemoryDisk::new();
    let path = Path::new("/config.yaml");
    disk.place(path, bytes);
    let lines = bytes.split(|byte| *byte == b'\n' || *byte == b'\r').count() as u64 + 1;
    let read = configuration::read(&disk, path);
    let is_accepted = read.is_ok();
    let positions = match read {
        Ok(read) => read.warnings.iter().map(|warning| (warning.line, warning.column)).collect(),
        Err(Error::BadConfig { line, column, .. }) => vec![(line, column)],
        Err(error) => return Err(format!("refused as an internal error: {error}")),
    };
    let is_inside = |(line, column): &(u64, u64)| {
        (1..=lines).contains(line) && (1..=bytes.len() as u64 + 1).contains(column)
    };
    match positions.iter().find(|position| !is_inside(position)) {
        Some(position) => Err(format!("{position:?} is not a position in the file")),
        None => Ok(is_accepted.into()),
    }
}

/// Model and core, which share no code, agree about an ignore file; the first line of the input is a path.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge_ignore_file(bytes: &[u8]) -> Judgement {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let path = &bytes[..end];
    let text = bytes.get(end + 1..).unwrap_or_default();
    let is_name =
        |name: &[u8]| !name.is_empty() && name != b"." && name != b".." && !name.contains(&0);
    if !path.split(|byte| *byte == b'/').all(is_name) {
        return Ok(false.into());
    }
    let answers = [true, false].map(|is_directory| {
        let core = herma_core::ignore::Excludes::new(&[], &[]);
        let file = herma_core::ignore::IgnoreFile::parse(text);
        let by_core = core.excludes(&[(b"", &file)], path, is_directory);
        let model = herma_model::ignore::Excludes::new(&[], &[]);
        let file = herma_model::ignore::IgnoreFile::parse(text);
        (by_core, model.excludes(&[(b"", &file)], path, is_directory))
    });
    if answers.iter().any(|(core, model)| core != model) {
        let of_whom = "the answers of core and model, for a directory and for a file";
        return Err(format!("{of_whom}: {answers:?}"));
    }
    Ok(answers.iter().any(|(core, _)| *core).into())
}

/// A line to an adapter: a request that is read and written again is the same request.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge_request_line(bytes: &[u8]) -> Judgement {
    let Some(read) = serde_json::from_slice(bytes).ok().and_then(|line: Value| request(&line))
    else {
        return Ok(false.into());
    };
    let message = Message::Request(read.clone());
    let line = serde_json::to_value(Envelope { id: 1, message: &message });
    match line.ok().and_then(|line| request(&line)) {
        Some(again) if again == read => Ok(true.into()),
        again => Err(format!("{read:?} was read again as {again:?}")),
    }
}

/// A line from an adapter, as the reply to each kind of request: an answer that is read and written again is
/// the same answer. A `hello` with capabilities is read or refused.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge_reply_line(bytes: &[u8], requests: &[Request]) -> Judgement {
    if let Ok(hello) = serde_json::from_slice::<Hello>(bytes)
        && let Ok(capabilities) = Capabilities::of(&hello)
    {
        capabilities.names().for_each(drop);
    }
    let Ok(reply) = serde_json::from_slice::<Reply>(bytes) else { return Ok(false.into()) };
    let mut is_answer = false;
    for request in requests {
        let Ok(answer) = translate::answer(request, reply.clone()) else { continue };
        let written = translate::reply(reply.id, answer.clone());
        let again = serde_json::from_value::<Reply>(written.clone())
            .map_err(|error| format!("{written} is no reply: {error}"))?;
        let again = translate::answer(request, again).map_err(|fault| fault.to_string())?;
        if again != answer {
            return Err(format!("{answer:?} was read again as {again:?}"));
        }
        is_answer = true;
    }
    Ok(is_answer.into())
}

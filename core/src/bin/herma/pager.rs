//! Shows an answer that may be long through the pager of the user, and a man page through `man`, where the output is
//! a terminal.

use crate::shell;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};

/// The pager of a user who has chosen none. It keeps colours, ends by itself if the answer fits the screen, and does
/// not wait for a key where the terminal is unknown.
const DEFAULT: &str = "command -v less > /dev/null || exit 127; exec less -dFRX";
/// How a shell reports that there is no such program.
const NO_SUCH_PROGRAM: i32 = 127;

/// Shows the answer until the user has read it. Returns whether it was shown: not if there is no pager, or a terminal
/// that has no screen.
pub fn shows(bytes: &[u8], variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let chosen = variable("PAGER").and_then(|pager| pager.into_string().ok());
    let chosen = chosen.filter(|pager| !pager.is_empty());
    let mut pager = shell::line(chosen.as_deref().unwrap_or(DEFAULT));
    if variable("LESSCHARSET").is_none() {
        // In the locale C, less shows letters of other languages as numbers.
        pager.env("LESSCHARSET", "utf-8");
    }
    let ended = has_screen(variable).then(|| ended(pager, bytes)).flatten();
    ended.is_some_and(|status| status.code() != Some(NO_SUCH_PROGRAM))
}

/// Shows a man page, of which this is the source. Returns whether it was shown: not if there is no `man` that can.
pub fn shows_manual(source: &[u8], variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let mut man = shell::line("exec man -l -");
    man.stderr(Stdio::null());
    let ended = has_screen(variable).then(|| ended(man, source)).flatten();
    ended.is_some_and(|status| status.success())
}

fn has_screen(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// How a program ended that got these bytes as its input.
fn ended(mut program: Command, input: &[u8]) -> Option<ExitStatus> {
    let mut child = program.stdin(Stdio::piped()).spawn().ok()?;
    if let Some(mut pipe) = child.stdin.take() {
        // A user who has read enough closes the pipe.
        let _ = pipe.write_all(input);
    }
    child.wait().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_reports_whether_the_chosen_pager_exists() {
        let folder = tempfile::tempdir().unwrap();
        let shown = folder.path().join("shown");
        let chosen = |pager: String| {
            move |name: &str| match name {
                "PAGER" => Some(OsString::from(pager.clone())),
                "TERM" => Some("xterm".into()),
                _ => None,
            }
        };
        assert!(shows(b"text", chosen(format!("cat > '{}'", shown.display()))));
        assert_eq!(std::fs::read(shown).unwrap(), b"text");
        assert!(!shows(b"text", chosen("no-such-pager 2> /dev/null".into())));
        // A pager that reads nothing is not taken for a missing one.
        assert!(shows(&[b'x'; 1_000_000], chosen("true".into())));
    }

    #[test]
    fn shows_starts_no_pager_without_a_screen_and_makes_less_read_utf_8() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("charset");
        let pager = format!("printf %s \"$LESSCHARSET\" > '{}'", file.display());
        let set = |name: &'static str, value: &'static str| {
            let variables = [("PAGER", pager.clone()), (name, value.to_owned())];
            move |asked: &str| {
                let found = variables.iter().find(|(name, _)| *name == asked);
                found.map(|(_, value)| OsString::from(value))
            }
        };
        assert!(!shows(b"text", set("TERM", "dumb")));
        assert!(!shows(b"text", set("TERM", "")));
        assert!(!shows(b"text", set("LESSCHARSET", "latin1")), "no TERM");
        assert!(!file.exists());
        assert!(shows(b"text", set("TERM", "xterm")));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "utf-8");
    }
}

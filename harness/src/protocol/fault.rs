//! Every way in which an adapter can violate the protocol, each with a name and a remedy.
//!
//! None of these is a verdict on the implementation behind the adapter.

use std::time::Duration;

/// Lines are shown up to this many bytes.
const SHOWN_BYTES_MAX: usize = 120;

/// What is wrong with an adapter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It cannot be started.
    #[error("not-started: the adapter cannot be started: {0}")]
    NotStarted(String),
    /// It printed nothing within the limit.
    #[error("silent: no reply to `{op}` within {} s", .limit.as_secs_f32())]
    Silent {
        /// The operation.
        op: String,
        /// How long the runner waited.
        limit: Duration,
    },
    /// It printed something without a newline.
    #[error("no-newline: the reply to `{op}` has no newline at its end; flush a whole line")]
    NoNewline {
        /// The operation.
        op: String,
    },
    /// It printed something that is not JSON.
    #[error("noise: line {line} is not JSON: \"{text}\"; print diagnostics to stderr")]
    Noise {
        /// The number of the line, from 1.
        line: u64,
        /// The line.
        text: String,
    },
    /// It printed JSON that is not a reply.
    #[error("not-a-reply: line {line} is JSON but no reply ({why}): \"{text}\"")]
    NotAReply {
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong.
        why: String,
        /// The line.
        text: String,
    },
    /// Its answer does not have the form that the operation requires.
    #[error("bad-answer: the answer to `{op}` is not of its form: {why}")]
    BadAnswer {
        /// The operation.
        op: String,
        /// What is wrong.
        why: String,
    },
    /// It answered another request.
    #[error("wrong-id: the reply to request {expected} carries id {found}")]
    WrongId {
        /// The request.
        expected: u64,
        /// The id of the reply.
        found: u64,
    },
    /// It answered a request twice.
    #[error("two-answers: request {id} was answered more than once")]
    TwoAnswers {
        /// The request.
        id: u64,
    },
    /// Its line is longer than the limit.
    #[error("endless-line: a line of more than {limit} bytes")]
    EndlessLine {
        /// The limit.
        limit: usize,
    },
    /// It ended while a reply was expected.
    #[error("exited: the adapter ended ({status}) before it answered `{op}`{}", with_complaint(.complaint))]
    Exited {
        /// The operation.
        op: String,
        /// How it ended.
        status: String,
        /// Whether its own code ended it, by a signal such as SIGSEGV.
        by_itself: bool,
        /// The end of what it printed to stderr.
        complaint: String,
    },
    /// It did not end when its input did.
    #[error("lingers: the adapter did not end within {} s of the end of its input", .limit.as_secs_f32())]
    Lingers {
        /// How long the runner waited.
        limit: Duration,
    },
    /// It ended, but a process that it started did not.
    #[error("leaves-a-child: the adapter ended and left a process of its group behind")]
    LeavesAChild,
}

impl Fault {
    /// Whether the fault counts as an answer of the implementation, which crashed or hangs, and not as a
    /// protocol violation. An adapter that just exits, that is ended from outside or that does not even
    /// open has not answered.
    pub fn is_the_subjects(&self) -> bool {
        match self {
            Fault::Exited { op, by_itself, .. } => *by_itself && !is_about_the_adapter(op),
            Fault::Silent { op, .. } => !is_about_the_adapter(op),
            _ => false,
        }
    }

    /// The stable name with which the message begins.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::NotStarted(_) => "not-started",
            Fault::Silent { .. } => "silent",
            Fault::NoNewline { .. } => "no-newline",
            Fault::Noise { .. } => "noise",
            Fault::NotAReply { .. } => "not-a-reply",
            Fault::BadAnswer { .. } => "bad-answer",
            Fault::WrongId { .. } => "wrong-id",
            Fault::TwoAnswers { .. } => "two-answers",
            Fault::EndlessLine { .. } => "endless-line",
            Fault::Exited { .. } => "exited",
            Fault::Lingers { .. } => "lingers",
            Fault::LeavesAChild => "leaves-a-child",
        }
    }
}

/// The stderr output of a program, as the end of an error message.
pub(super) fn with_complaint(complaint: &str) -> String {
    match complaint.trim_end() {
        "" => String::new(),
        complaint => format!("\nit printed to stderr:\n{complaint}"),
    }
}

/// Whether an operation is served by the adapter itself.
fn is_about_the_adapter(op: &str) -> bool {
    ["hello", "open", "close"].contains(&op)
}

/// The beginning of a line, with everything but printable ASCII escaped.
pub fn shown(line: &[u8]) -> String {
    let head = &line[..line.len().min(SHOWN_BYTES_MAX)];
    let dots = if head.len() < line.len() { "…" } else { "" };
    format!("{}{dots}", head.escape_ascii())
}

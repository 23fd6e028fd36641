//! The tools of an agent that may change files, with what a tool is about to do.

use crate::bytes::ByteString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool that is about to run. Paths are relative to the directory where it runs, or absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// A file is written.
    WriteFile {
        /// The file.
        path: ByteString,
    },
    /// One patch is applied to several files, told in the form that the implementation's tool takes.
    Patch {
        /// The form, where it takes more than one.
        form: PatchForm,
        /// The files that it names.
        files: Vec<ByteString>,
    },
    /// A command runs in a terminal.
    Terminal {
        /// The command, a line of shell.
        command: String,
    },
}

/// How a patch is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchForm {
    /// It begins with `*** Begin Patch`.
    Envelope,
    /// As git writes it.
    Git,
    /// A unified diff without anything around it.
    Unified,
}

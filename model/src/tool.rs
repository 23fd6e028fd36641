//! The tools of an agent that may change files. A value contains what the tool is about to do.

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
    /// One patch is applied to several files, in the form that the implementation's tool takes.
    Patch {
        /// The form, if the tool takes several.
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

/// The form of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchForm {
    /// It begins with `*** Begin Patch`.
    Envelope,
    /// As git writes it.
    Git,
    /// A plain unified diff.
    Unified,
}

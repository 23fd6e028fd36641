//! What an implementation documents that it does otherwise, where no rule is broken by it.
//!
//! The default is the behaviour that the rules describe. A difference is never a verdict: the
//! rules that it leaves nothing of are not applicable, and that is for the caller to say.

/// How an implementation differs from the behaviour that the rules describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Whether a project that did not change since its last checkpoint gets none.
    pub recognises_unchanged: bool,
    /// Whether a restore takes a pre-rollback checkpoint first.
    pub safety_checkpoint: bool,
    /// Whether the default excludes, secrets among them, are left out.
    pub default_excludes: bool,
    /// Whether a project's own ignore files are heeded.
    pub ignore_files: bool,
    /// Whether what is called `.git` is left out.
    pub leaves_out_repositories: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect {
            recognises_unchanged: true,
            safety_checkpoint: true,
            default_excludes: true,
            ignore_files: true,
            leaves_out_repositories: true,
        }
    }
}

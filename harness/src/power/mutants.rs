//! The mutants of a source file: every small change that its syntax tree permits, and a sample of them that
//! depends only on the seed.

use super::PowerError;
use crate::bundled;
use crate::share::Share;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lists the mutants of a Python file, with only Python's standard library.
const PYTHON: &str = include_str!("../../power/mutants.py");
/// Lists the mutants of a JavaScript module, with a parser from the registry.
const JAVASCRIPT: &str = include_str!("../../power/mutants.mjs");
const JAVASCRIPT_PARSER: &str = "acorn@8.19.0";

/// One small change of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// The source file, below the folder that the package is installed in.
    #[serde(default)]
    pub file: String,
    /// The kind of change.
    pub kind: String,
    /// The line in which the changed statement begins.
    pub line: usize,
    /// Whether the statement is in a function, or is a setting that other code must read; any other statement
    /// runs whenever the file is loaded.
    pub inside: bool,
    /// The first byte that is replaced.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// The replaced text.
    pub was: String,
    /// The new text.
    pub text: String,
}

impl Mutant {
    /// The id of the mutant among all mutants of the same package.
    pub fn id(&self) -> String {
        format!("{}:{}-{}:{}", self.file, self.start, self.end, self.text)
    }

    /// The file with this change.
    pub fn applied(&self, source: &[u8]) -> Vec<u8> {
        [&source[..self.start], self.text.as_bytes(), &source[self.end..]].concat()
    }

    /// Whether the line of the mutant ran, given the lines of each file that ran.
    pub fn is_reached(&self, ran: &BTreeSet<(String, usize)>) -> bool {
        !self.inside || ran.contains(&(self.file.clone(), self.line))
    }
}

/// The parser of JavaScript files, installed in the cache folder; Python files need none.
pub struct Parser {
    folder: PathBuf,
}

impl Parser {
    /// Installs the parser if one of these files needs it, unless it is installed already.
    ///
    /// # Errors
    /// [`PowerError::Parser`] or [`PowerError::File`].
    pub fn install(cache: &Path, sources: &[&str]) -> Result<Self, PowerError> {
        let folder = cache.join(JAVASCRIPT_PARSER.replace('@', "-"));
        let wanted = sources.iter().any(|source| !is_python(source.as_ref()));
        if wanted && !folder.exists() {
            let file = |error| PowerError::File(cache.display().to_string(), error);
            std::fs::create_dir_all(cache).map_err(file)?;
            let part = tempfile::Builder::new().prefix("part-").tempdir_in(cache).map_err(file)?;
            bundled::node(JAVASCRIPT_PARSER, part.path(), part.path())?;
            std::fs::rename(part.keep(), &folder).map_err(file)?;
        }
        Ok(Parser { folder })
    }

    fn run(&self, source: &Path, arguments: &[&OsStr]) -> Result<Vec<u8>, PowerError> {
        let failed = |why: String| PowerError::List { file: source.display().to_string(), why };
        let mut command = if is_python(source) {
            let mut python = Command::new("python3");
            python.args(["-I", "-c", PYTHON]);
            python
        } else {
            let mut node = Command::new("node");
            // The first argument takes the position of the script name.
            node.args(["--input-type=module", "--eval", JAVASCRIPT, "--", "mutants.mjs"]);
            node.arg(&self.folder);
            node
        };
        let output = command.args(arguments).output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(output.stdout)
    }
}

fn is_python(source: &Path) -> bool {
    source.extension().is_some_and(|extension| extension == "py")
}

/// Every mutant of the source file `name` below `packages`.
///
/// # Errors
/// [`PowerError::List`].
pub fn list(parser: &Parser, packages: &Path, name: &str) -> Result<Vec<Mutant>, PowerError> {
    let source = packages.join(name);
    let printed = parser.run(&source, &["list".as_ref(), source.as_ref()])?;
    let failed = |why: String| PowerError::List { file: name.to_owned(), why };
    let lines = printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let read = lines.map(|line| {
        let mutant: Mutant =
            serde_json::from_slice(line).map_err(|error| failed(error.to_string()))?;
        Ok(Mutant { file: name.to_owned(), ..mutant })
    });
    read.collect()
}

/// A source file in which each statement of a function adds its line to the file `lines` when it
/// runs.
///
/// # Errors
/// [`PowerError::List`].
pub fn marked(parser: &Parser, source: &Path, lines: &Path) -> Result<Vec<u8>, PowerError> {
    parser.run(source, &["mark".as_ref(), source.as_ref(), lines.as_ref()])
}

/// A sample of these mutants that depends only on the seed, and of the sample the mutants of one share.
pub fn sample(mut mutants: Vec<Mutant>, seed: u64, size: usize, share: Share) -> Vec<Mutant> {
    mutants.sort_by_cached_key(|mutant| {
        let digest = Sha256::digest(format!("{seed} {}", mutant.id()));
        <[u8; 32]>::from(digest)
    });
    mutants.truncate(size);
    let is_in_share = |(number, _): &(u64, Mutant)| share.holds(*number);
    (0..).zip(mutants).filter(is_in_share).map(|(_, mutant)| mutant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn listed(text: &str) -> Vec<Mutant> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.py"), text).unwrap();
        let parser = Parser { folder: folder.path().to_owned() };
        list(&parser, folder.path(), "a.py").unwrap()
    }

    #[test]
    fn applied_changes_the_bytes_that_each_mutant_names() {
        let text = "def f(a, b):\n    \"\"\"Says é.\"\"\"\n    if a < 'é' and g(a, b):\n        return 1\n";
        let changed: Vec<String> = listed(text)
            .iter()
            .map(|mutant| {
                assert!(mutant.inside, "{mutant:?}");
                assert_eq!(text.as_bytes()[mutant.start..mutant.end], *mutant.was.as_bytes());
                let changed = String::from_utf8(mutant.applied(text.as_bytes())).unwrap();
                changed.lines().skip(2).collect::<Vec<_>>().join("|")
            })
            .collect();
        let condition = "a < 'é' and g(a, b)";
        assert_eq!(
            changed,
            [
                format!("    if (not ({condition})):|        return 1"),
                "    if a < 'é' or g(a, b):|        return 1".to_owned(),
                "    if a <= 'é' and g(a, b):|        return 1".to_owned(),
                "    if a < \"\" and g(a, b):|        return 1".to_owned(),
                "    if a < 'é' and g(b):|        return 1".to_owned(),
                "    if a < 'é' and g(a):|        return 1".to_owned(),
                format!("    if {condition}:|        return None"),
                format!("    if {condition}:|        return (1 + 1)"),
            ]
        );
    }

    #[test]
    fn sample_is_the_union_of_its_shares() {
        let mutants = listed(&"x = [1, 2, 3, 4]\n".repeat(5));
        assert!(mutants.len() > 20 && mutants.iter().all(|mutant| !mutant.inside));
        let complete = sample(mutants.clone(), 7, 12, Share { index: 1, count: 1 });
        assert_eq!(complete.len(), 12);
        let mut parts: Vec<Mutant> = (1..=3)
            .flat_map(|index| sample(mutants.clone(), 7, 12, Share { index, count: 3 }))
            .collect();
        let by_id = |mutant: &Mutant| mutant.id();
        let mut sorted = complete.clone();
        sorted.sort_by_key(by_id);
        parts.sort_by_key(by_id);
        assert_eq!(parts, sorted);
        assert!(sample(mutants, 8, 12, Share { index: 1, count: 1 }) != complete);
    }
}

//! The mutants of a source file: every small change that its syntax tree offers, and a sample of
//! them that depends on the seed alone.

use super::PowerError;
use crate::bundled;
use crate::share::Share;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lists the changes of a Python file, with nothing but Python's standard library.
const PYTHON: &str = include_str!("../../power/mutants.py");
/// Lists those of a JavaScript module, with a parser from the registry.
const JAVASCRIPT: &str = include_str!("../../power/mutants.mjs");
const JAVASCRIPT_PARSER: &str = "acorn@8.19.0";

/// One small change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// The source file, below the folder that the package is installed in.
    #[serde(default)]
    pub file: String,
    /// What kind of change it is.
    pub kind: String,
    /// The line that the statement begins in.
    pub line: usize,
    /// Whether that is in a function, or a setting that somebody must read; what is neither runs
    /// whenever the file is loaded.
    pub inside: bool,
    /// The first byte that is replaced.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// What stood there.
    pub was: String,
    /// What stands there instead.
    pub text: String,
}

impl Mutant {
    /// Identifies it among all mutants of the same package.
    pub fn id(&self) -> String {
        format!("{}:{}-{}:{}", self.file, self.start, self.end, self.text)
    }

    /// The file with this change.
    pub fn applied(&self, source: &[u8]) -> Vec<u8> {
        [&source[..self.start], self.text.as_bytes(), &source[self.end..]].concat()
    }

    /// Whether its line ran, given the lines of each file that did.
    pub fn is_reached(&self, ran: &BTreeSet<(String, usize)>) -> bool {
        !self.inside || ran.contains(&(self.file.clone(), self.line))
    }
}

/// What reads source files, installed in the cache folder.
pub struct Parser {
    folder: PathBuf,
}

impl Parser {
    /// Installs what is needed to read these files, unless it is there.
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
            // The first argument stands where the name of a script would.
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

/// Every mutant of a source file, which is `name` below `packages`.
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

/// So many of these mutants, chosen by the seed alone, and of them the ones of one share.
pub fn sample(mut all: Vec<Mutant>, seed: u64, size: usize, share: Share) -> Vec<Mutant> {
    all.sort_by_cached_key(|mutant| {
        let digest = Sha256::digest(format!("{seed} {}", mutant.id()));
        <[u8; 32]>::from(digest)
    });
    all.truncate(size);
    let own = |(number, _): &(u64, Mutant)| share.holds(*number);
    (0..).zip(all).filter(own).map(|(_, mutant)| mutant).collect()
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
    fn each_mutant_changes_the_bytes_that_it_names() {
        let text = "def f(a, b):\n    \"\"\"Says é.\"\"\"\n    if a < 'é' and g(a, b):\n        return 1\n";
        let changed: Vec<String> = listed(text)
            .iter()
            .map(|one| {
                assert!(one.inside, "{one:?}");
                assert_eq!(text.as_bytes()[one.start..one.end], *one.was.as_bytes());
                let whole = String::from_utf8(one.applied(text.as_bytes())).unwrap();
                whole.lines().skip(2).collect::<Vec<_>>().join("|")
            })
            .collect();
        let both = "a < 'é' and g(a, b)";
        assert_eq!(
            changed,
            [
                format!("    if (not ({both})):|        return 1"),
                "    if a < 'é' or g(a, b):|        return 1".to_owned(),
                "    if a <= 'é' and g(a, b):|        return 1".to_owned(),
                "    if a < \"\" and g(a, b):|        return 1".to_owned(),
                "    if a < 'é' and g(b):|        return 1".to_owned(),
                "    if a < 'é' and g(a):|        return 1".to_owned(),
                format!("    if {both}:|        return None"),
                format!("    if {both}:|        return (1 + 1)"),
            ]
        );
    }

    #[test]
    fn shares_of_a_sample_are_the_sample() {
        let all = listed(&"x = [1, 2, 3, 4]\n".repeat(5));
        assert!(all.len() > 20 && all.iter().all(|one| !one.inside));
        let whole = sample(all.clone(), 7, 12, Share { index: 1, count: 1 });
        assert_eq!(whole.len(), 12);
        let mut parts: Vec<Mutant> = (1..=3)
            .flat_map(|index| sample(all.clone(), 7, 12, Share { index, count: 3 }))
            .collect();
        let by_id = |one: &Mutant| one.id();
        let mut sorted = whole.clone();
        sorted.sort_by_key(by_id);
        parts.sort_by_key(by_id);
        assert_eq!(parts, sorted);
        assert!(sample(all, 8, 12, Share { index: 1, count: 1 }) != whole);
    }
}

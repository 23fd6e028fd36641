//! Computes the content that a checkpoint of a directory must have, from the files of the world.
//!
//! A pass visits the files below the project. It also records which rules each file tests, so that comparing
//! the file later counts as a check of these rules.

use crate::bytes::{self, ByteString};
use crate::files::{Files, Node, permissions};
use crate::ignore::{DEFAULT_EXCLUDES, Excludes, IgnoreFile, SECRETS};
use crate::path_map::PathMap;
use crate::rules::{self, RuleRef};
use crate::tree::{Entry, Tree};
use crate::unit::{self, Unit};
use ignore_files::{IgnoreChain, IgnoreFileName, files_of, levels};
use pass::LastCapture;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

mod ignore_files;
mod pass;
#[cfg(test)]
mod tests;
mod units;

pub use units::CapturedUnit;
pub(crate) use units::reports_in_use;

/// The bounds of a capture.
#[derive(Clone, Debug)]
pub struct Bounds<'a> {
    /// Files larger than this many bytes are left out; 0 is no bound.
    pub file_bytes_max: u64,
    /// The checkpoint base, relative to the world's root; never captured.
    pub base: &'a [u8],
}

/// The result of a capture.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// The content of the checkpoint.
    pub tree: Tree,
    /// The permission bits of the captured files.
    pub permissions: PathMap<u32>,
    /// The permission bits of all folders of the project with other than the default bits; the path of the
    /// project is empty.
    pub folders: PathMap<u32>,
    /// The paths that were left out, each with the rule for it.
    pub left_out: BTreeMap<ByteString, RuleRef>,
    /// The nodes at those of these paths that no pattern excludes.
    pub unrecorded: BTreeMap<ByteString, Node>,
    /// Directories that were not entered, each with the rule for it.
    pub closed: BTreeMap<ByteString, RuleRef>,
    /// Rules that the captured files test, and how many files do.
    pub tested: BTreeMap<&'static str, (RuleRef, usize)>,
    /// Captured paths that a plausible misreading of these rules would leave out: because of their size,
    /// a pattern that names them or their location.
    pub despite: PathMap<Vec<RuleRef>>,
    /// The units with any member that is not ignored, where an implementation captures units.
    pub units: Vec<CapturedUnit>,
}

impl Captured {
    /// Files that must be reported as left out.
    pub fn unreadable(&self) -> impl Iterator<Item = &ByteString> {
        self.left_out
            .iter()
            .filter(|(_, rule)| **rule == &rules::CAPTURE_UNREADABLE)
            .map(|(path, _)| path)
    }

    /// The rules about unreadable and special files that were left out: such files must not make a
    /// request fail.
    pub fn skipped_file_rules(&self) -> Vec<RuleRef> {
        let rules: [RuleRef; 2] = [&rules::CAPTURE_UNREADABLE, &rules::CAPTURE_SPECIAL];
        let is_met = |rule: &RuleRef| self.left_out.values().any(|left_out_by| left_out_by == rule);
        rules.into_iter().filter(is_met).collect()
    }

    /// Whether a path or a folder above it was left out though no pattern excludes it, so that later the path
    /// does not count as created since.
    pub fn has_unrecorded(&self, path: &[u8]) -> bool {
        let is_folder = |above: &[u8]| self.unrecorded.get(above) == Some(&Node::Directory);
        self.unrecorded.contains_key(path) || bytes::ancestors(path).any(is_folder)
    }

    /// Whether the files and folders of both captures have the same permissions.
    pub fn has_permissions_of(&self, captured: &Captured) -> bool {
        self.permissions == captured.permissions && self.folders == captured.folders
    }

    /// The permission bits that a folder above a captured file had; `None` if they are not known, or there is
    /// no such file.
    pub fn folder_permissions(&self, folder: &[u8]) -> Option<u32> {
        let is_inside =
            |path: &ByteString| folder.is_empty() || bytes::below(folder, path).is_some();
        let first = ByteString::from(folder);
        let mut files = self.permissions.range(first..).map(|(path, _)| path);
        files
            .find(|path| !path.starts_with(folder) || is_inside(path))
            .filter(|path| is_inside(path))?;
        Some(self.folders.get(folder).copied().unwrap_or(permissions::FOLDER_DEFAULT))
    }

    fn count_test(&mut self, rule: RuleRef) {
        self.tested.entry(rule.id).or_insert((rule, 0)).1 += 1;
    }
}

/// The context of a directory while its content is examined.
#[derive(Clone)]
struct DirectoryContext {
    ignores: Option<Rc<IgnoreChain>>,
    nested_repository: bool,
    /// Whether a default exclude names it or a directory above it, and an ignore file included it again.
    is_named: bool,
    /// Whether it or a directory above it is only entered because of an own ignore file.
    is_entered_by_own: bool,
}

/// A path that a capture finds, with the context and the bounds that decide about it.
struct FoundPath<'a> {
    path: &'a [u8],
    context: &'a DirectoryContext,
    bounds: &'a Bounds<'a>,
    /// The permission bits of a file.
    bits: Option<u32>,
}

/// Decides which paths are captured; holds the parsed default excludes, and the last capture of each
/// project.
#[derive(Clone)]
pub struct Capturer {
    last: RefCell<BTreeMap<ByteString, LastCapture>>,
    excludes: Rc<Excludes>,
    secrets: Rc<Excludes>,
    /// What excludes a member of a unit in addition to the project's ignore files.
    member_excludes: Rc<Excludes>,
    /// The ignore files that are read, in this order in each directory.
    ignore_files: Vec<IgnoreFileName>,
    captures_units: bool,
}

impl Capturer {
    /// A capturer that leaves out what an implementation with these capabilities does; each exclusion
    /// needs its capability.
    pub fn new(has: &dyn Fn(&str) -> bool) -> Self {
        let mut excludes = if has("capture.default_excludes") {
            Excludes::new(DEFAULT_EXCLUDES, SECRETS)
        } else {
            Excludes::new(&[], &[])
        };
        if !has("capture.no_repositories") {
            excludes = excludes.with_repositories();
        }
        let secrets = if has("capture.default_excludes") { SECRETS } else { &[] };
        Capturer {
            last: RefCell::default(),
            excludes: Rc::new(excludes),
            secrets: Rc::new(Excludes::new(&[], SECRETS)),
            member_excludes: Rc::new(Excludes::new(&[], secrets)),
            ignore_files: ignore_files::names(has),
            captures_units: has("capture.units"),
        }
    }
}

impl Capturer {
    /// The same for an implementation whose own ignore files have this name.
    pub(crate) fn with_own_ignore_file(mut self, name: &ByteString) -> Self {
        for file in self.ignore_files.iter_mut().filter(|file| file.is_own) {
            file.name.clone_from(name);
        }
        self
    }

    /// Whether a file of this name may decide about other files.
    fn is_ignore_file(&self, name: &[u8]) -> bool {
        self.ignore_files.iter().any(|file| file.name[..] == *name)
    }

    /// The units of a project, for an implementation that captures units.
    fn units(&self, files: &Files, project: &[u8]) -> Vec<Unit> {
        match self.captures_units {
            true => unit::units_among(unit::paths_of_files(files, project)),
            false => Vec::new(),
        }
    }

    fn ignored(
        &self,
        chain: &Option<Rc<IgnoreChain>>,
        path: &[u8],
        is_directory: bool,
        has_default_excludes: bool,
    ) -> bool {
        let excludes = if has_default_excludes { &self.excludes } else { &self.member_excludes };
        excludes.excludes(&levels(chain, true), path, is_directory)
    }

    /// Whether own ignore files decide about a path: without them the other decision would be made.
    fn is_decided_by_own(
        &self,
        chain: &Option<Rc<IgnoreChain>>,
        path: &[u8],
        is_directory: bool,
    ) -> bool {
        let is_ignored =
            |with_own| self.excludes.excludes(&levels(chain, with_own), path, is_directory);
        files_of(chain).any(|file| file.is_own) && is_ignored(true) != is_ignored(false)
    }

    /// Adds a path to the checkpoint as it is, or records why it is left out.
    ///
    /// Implements [`rules::CAPTURE_SIZE_CAP`], [`rules::CAPTURE_SPECIAL`],
    /// [`rules::CAPTURE_UNREADABLE`], [`rules::CAPTURE_BYTES`], [`rules::CAPTURE_EXECUTABLE`],
    /// [`rules::CAPTURE_SYMLINK`], [`rules::CAPTURE_ANY_NAME`], [`rules::CAPTURE_NO_CONVERSION`] and
    /// [`rules::CAPTURE_INDEPENDENT`].
    fn add(&self, captured: &mut Captured, found: &FoundPath<'_>, node: &Node, ignored: bool) {
        let FoundPath { path, context, bounds, .. } = *found;
        let too_large = |content: &ByteString| {
            bounds.file_bytes_max > 0 && content.len() as u64 > bounds.file_bytes_max
        };
        let entry = match node {
            _ if ignored => Err(self.exclusion_rule(path, context, false)),
            Node::Directory => return,
            Node::Special(_) => Err(&rules::CAPTURE_SPECIAL),
            Node::File { content, .. } if too_large(content) => Err(&rules::CAPTURE_SIZE_CAP),
            Node::File { readable: false, .. } => Err(&rules::CAPTURE_UNREADABLE),
            Node::File { content, executable, .. } => {
                Ok(Entry::File { content: content.clone(), executable: *executable })
            }
            Node::Link { target } => Ok(Entry::Link { target: target.clone() }),
        };
        let name = ByteString::from(path);
        match entry {
            Err(rule) => {
                if ignored {
                    self.count_exclusion(captured, path, context, false);
                } else {
                    captured.count_test(rule);
                    captured.unrecorded.insert(name.clone(), node.clone());
                }
                captured.left_out.insert(name, rule);
            }
            Ok(entry) => {
                let despite = self.despite(found, &entry);
                count_tests(captured, found, &entry, &despite);
                if !despite.is_empty() {
                    captured.despite.insert(name.clone(), despite);
                }
                if let Some(bits) = found.bits {
                    captured.permissions.insert(name.clone(), bits);
                }
                captured.tree.insert(name, entry);
            }
        }
    }

    /// The rules by which a plausible misreading would leave this captured path out.
    fn despite(&self, found: &FoundPath<'_>, entry: &Entry) -> Vec<RuleRef> {
        let FoundPath { path, context, bounds, .. } = *found;
        let mut despite: Vec<RuleRef> = Vec::new();
        let size = matches!(entry, Entry::File { .. }).then_some(entry.bytes().len() as u64);
        let limit = bounds.file_bytes_max;
        if size.is_some_and(|size| size > 0 && size == limit) {
            despite.push(&rules::CAPTURE_SIZE_CAP);
        }
        if context.is_entered_by_own || self.is_decided_by_own(&context.ignores, path, false) {
            despite.push(&rules::CAPTURE_OWN_IGNORE_FILE);
        }
        let is_named = || context.is_named || self.excludes.excludes(&[], path, false);
        if context.ignores.is_some() && is_named() {
            despite.push(&rules::CAPTURE_DEFAULT_EXCLUDES);
        }
        let names_it = |file: &&IgnoreChain| {
            file.file.names(bytes::below(&file.directory, path).unwrap_or(path))
        };
        if let Some(naming) = files_of(&context.ignores).find(names_it) {
            despite.push(match naming.is_own {
                true => &rules::CAPTURE_OWN_IGNORE_FILE,
                false => &rules::CAPTURE_GITIGNORE,
            });
        }
        if context.nested_repository {
            despite.push(&rules::CAPTURE_NESTED_REPOSITORY);
        }
        // A limit of 0 that is taken for one leaves out every file: what names this one explains more.
        if limit == 0 && size.is_some_and(|size| size > 0) {
            despite.push(&rules::CAPTURE_SIZE_CAP);
        }
        despite
    }

    /// The rule that excludes a path which ignore patterns exclude, by its name and the ignore files.
    fn exclusion_rule(
        &self,
        path: &[u8],
        context: &DirectoryContext,
        is_directory: bool,
    ) -> RuleRef {
        if bytes::file_name(path) == b".git" {
            &rules::CAPTURE_NESTED_REPOSITORY
        } else if self.secrets.excludes(&[], path, false) {
            &rules::CAPTURE_SECRETS
        } else if self.is_decided_by_own(&context.ignores, path, is_directory) {
            &rules::CAPTURE_OWN_IGNORE_FILE
        } else if self.excludes.excludes(&[], path, true) {
            &rules::CAPTURE_DEFAULT_EXCLUDES
        } else {
            &rules::CAPTURE_GITIGNORE
        }
    }

    /// Counts an excluded path for its rule, if it tests the rule: secrets where an ignore file could
    /// re-include them, repositories where they are nested.
    fn count_exclusion(
        &self,
        captured: &mut Captured,
        path: &[u8],
        context: &DirectoryContext,
        is_directory: bool,
    ) {
        let rule = self.exclusion_rule(path, context, is_directory);
        let tested = match rule {
            rule if *rule == rules::CAPTURE_SECRETS => context.ignores.is_some(),
            rule if *rule == rules::CAPTURE_NESTED_REPOSITORY => path.contains(&b'/'),
            _ => true,
        };
        if tested {
            captured.count_test(rule);
        }
    }

    /// Whether the ignore files that `tree` itself holds exclude `path`, a file.
    pub fn ignored_by(&self, tree: &Tree, path: &[u8]) -> bool {
        self.ignored_in(tree, path, &self.excludes)
    }

    /// The same for a member of a unit, which the default excludes do not apply to.
    pub(crate) fn member_ignored_by(&self, tree: &Tree, path: &[u8]) -> bool {
        self.ignored_in(tree, path, &self.member_excludes)
    }

    fn ignored_in(&self, tree: &Tree, path: &[u8], file_excludes: &Excludes) -> bool {
        let mut levels: Vec<(&[u8], IgnoreFile)> = Vec::new();
        let directories = std::iter::once(&b""[..]).chain(bytes::ancestors(path));
        for directory in directories {
            let excluded = |levels: &[(&[u8], IgnoreFile)], path: &[u8], is_directory: bool| {
                let levels: Vec<_> =
                    levels.iter().map(|(directory, file)| (*directory, file)).collect();
                self.excludes.excludes(&levels, path, is_directory)
            };
            if !directory.is_empty() && excluded(&levels, directory, true) {
                return true;
            }
            for file in &self.ignore_files {
                let ignore_path = ByteString::from(bytes::join(directory, &file.name));
                if let Some(Entry::File { content, .. }) = tree.get(&ignore_path) {
                    levels.push((directory, IgnoreFile::parse(content)));
                }
            }
        }
        let levels: Vec<_> = levels.iter().map(|(directory, file)| (*directory, file)).collect();
        file_excludes.excludes(&levels, path, false)
    }
}

fn count_tests(captured: &mut Captured, found: &FoundPath<'_>, entry: &Entry, despite: &[RuleRef]) {
    let gitignore: RuleRef = &rules::CAPTURE_GITIGNORE;
    for rule in content_rules(found.path, entry) {
        captured.count_test(rule);
    }
    for rule in despite.iter().filter(|rule| **rule != gitignore) {
        captured.count_test(rule);
    }
    if files_of(&found.context.ignores).any(|level| !level.is_own) {
        captured.count_test(gitignore);
    }
}

/// The rules that an entry tests by its name and content alone.
pub fn content_rules(path: &[u8], entry: &Entry) -> Vec<RuleRef> {
    let mut tested: Vec<RuleRef> = vec![&rules::CAPTURE_INDEPENDENT];
    match entry {
        Entry::Link { .. } => tested.push(&rules::CAPTURE_SYMLINK),
        Entry::File { content, executable } => {
            tested.push(&rules::CAPTURE_BYTES);
            if *executable {
                tested.push(&rules::CAPTURE_EXECUTABLE);
            }
            // Most contents have neither byte, which is known sooner.
            let may_convert = content.contains(&b'\r') || content.contains(&b'$');
            if may_convert && content.windows(2).any(|pair| pair == b"\r\n" || pair == b"$I") {
                tested.push(&rules::CAPTURE_NO_CONVERSION);
            }
        }
    }
    if !bytes::is_plain(path) {
        tested.push(&rules::CAPTURE_ANY_NAME);
    }
    tested
}

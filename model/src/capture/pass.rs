//! The pass of a capture through files: through all files of a project, or, where the project was captured
//! before, only through those that changed since.

use super::ignore_files::{IgnoreChain, IgnoreFileName};
use super::{Bounds, Captured, Capturer, DirectoryContext, FoundPath};
use crate::bytes::{self, ByteString};
use crate::files::{Files, Node};
use crate::ignore::IgnoreFile;
use crate::path_map::PathMap;
use crate::rules;
use crate::unit::{Role, Unit};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// The last capture of a project.
#[derive(Clone)]
pub(super) struct LastCapture {
    /// The files that were captured.
    files: Files,
    file_bytes_max: u64,
    captured: Arc<Captured>,
    units: Vec<Unit>,
}

impl Capturer {
    /// Captures `project`, a directory of `files`.
    pub fn capture(&self, files: &Files, project: &[u8], bounds: &Bounds<'_>) -> Arc<Captured> {
        let last = self.last.borrow().get(project).cloned();
        let last = last.filter(|last| last.file_bytes_max == bounds.file_bytes_max);
        let pass = || Pass::new(self, files, project, bounds);
        let updated = last.and_then(|last| pass().update(last));
        let new = updated.unwrap_or_else(|| pass().complete());
        let captured = Arc::clone(&new.captured);
        self.last.borrow_mut().insert(ByteString::from(project), new);
        captured
    }
}

/// A pass through files.
struct Pass<'a> {
    capturer: &'a Capturer,
    files: &'a Files,
    project: &'a [u8],
    bounds: &'a Bounds<'a>,
    units: Vec<Unit>,
    /// The context of each directory that is known so far; `None` where it is not entered.
    directories: BTreeMap<ByteString, Option<DirectoryContext>>,
    /// What was found so far.
    captured: Captured,
}

impl<'a> Pass<'a> {
    fn new(
        capturer: &'a Capturer,
        files: &'a Files,
        project: &'a [u8],
        bounds: &'a Bounds<'a>,
    ) -> Self {
        let mut captured = Captured::default();
        if let Some(path) = bytes::below(project, bounds.base) {
            captured.closed.insert(ByteString::from(path), &rules::SCOPE_BASE_NOT_CAPTURED);
        }
        let units = Vec::new();
        let directories = BTreeMap::new();
        Pass { capturer, files, project, bounds, units, directories, captured }
    }

    /// Captures all files.
    fn complete(mut self) -> LastCapture {
        self.units = self.capturer.units(self.files, self.project);
        for (full, node) in self.files.below(self.project) {
            if let Some(path) = bytes::below(self.project, full) {
                self.visit(path, node);
            }
        }
        self.captured.folders = folder_permissions(self.files, self.project);
        self.captured.record_units(self.units.clone(), self.files, self.project);
        LastCapture {
            files: self.files.clone(),
            file_bytes_max: self.bounds.file_bytes_max,
            captured: Arc::new(self.captured),
            units: self.units,
        }
    }

    /// Captures the files that changed since the last capture; `None` where one of them may decide about
    /// others.
    fn update(mut self, last: LastCapture) -> Option<LastCapture> {
        let all_changed = last.files.changed(self.files);
        let is_project_changed = all_changed.contains(&ByteString::from(self.project));
        let changed = all_changed.into_iter();
        let changed = changed.filter_map(|full| bytes::below(self.project, full));
        let changed: Vec<ByteString> = changed.map(ByteString::from).collect();
        if changed.is_empty() && !is_project_changed {
            return Some(LastCapture { files: self.files.clone(), ..last });
        }
        let decides = |path: &ByteString| {
            let name = bytes::file_name(path);
            let full = bytes::join(self.project, path);
            let is_unreadable = |files: &Files| files.is_unreadable_folder(&full);
            is_unreadable(&last.files) != is_unreadable(self.files)
                || name == b".git"
                || self.capturer.is_ignore_file(name)
                || last.units.iter().any(|unit| unit.role(path).is_some())
        };
        let units = || self.capturer.units(self.files, self.project);
        if changed.iter().any(decides) || last.units != units() {
            return None;
        }
        let mut before = Pass::new(self.capturer, &last.files, self.project, self.bounds);
        before.visit_all(&changed);
        self.visit_all(&changed);
        let mut captured = Captured::clone(&last.captured);
        captured.replace(&changed, &before.captured, self.captured);
        captured.folders = folder_permissions(self.files, self.project);
        Some(LastCapture { files: self.files.clone(), captured: Arc::new(captured), ..last })
    }

    fn visit_all(&mut self, paths: &[ByteString]) {
        for path in paths {
            if let Some(node) = self.files.get(&bytes::join(self.project, path)) {
                self.visit(path, node);
            }
        }
    }

    fn visit(&mut self, path: &[u8], node: &Node) {
        let Some(context) = self.context(bytes::parent(path)) else { return };
        if self.is_base(path) {
            let rule = &rules::SCOPE_BASE_NOT_CAPTURED;
            self.captured.left_out.insert(ByteString::from(path), rule);
            return;
        }
        if *node == Node::Directory {
            if self.context(path).is_none() {
                self.close(path, &context);
            }
            return;
        }
        let role = self.units.iter().find_map(|unit| unit.role(path));
        if role == Some(Role::Derived) {
            self.captured.left_out.insert(ByteString::from(path), &rules::UNIT_CAPTURED);
            return;
        }
        let ignored = self.capturer.ignored(&context.ignores, path, false, role.is_none());
        let bits = self.files.permissions(&bytes::join(self.project, path));
        let found = FoundPath { path, context: &context, bounds: self.bounds, bits };
        self.capturer.add(&mut self.captured, &found, node, ignored);
    }

    /// Records why a directory is not entered.
    ///
    /// Implements [`rules::CAPTURE_UNREADABLE`].
    fn close(&mut self, path: &[u8], context: &DirectoryContext) {
        let name = ByteString::from(path);
        if self.capturer.ignored(&context.ignores, path, true, true) {
            let rule = self.capturer.exclusion_rule(path, context, true);
            self.captured.closed.insert(name, rule);
            self.capturer.count_exclusion(&mut self.captured, path, context, true);
            return;
        }
        let rule = &rules::CAPTURE_UNREADABLE;
        self.captured.count_test(rule);
        self.captured.closed.insert(name.clone(), rule);
        self.captured.left_out.insert(name.clone(), rule);
        self.captured.unrecorded.insert(name, Node::Directory);
    }

    fn is_base(&self, path: &[u8]) -> bool {
        bytes::below(self.project, self.bounds.base) == Some(path)
    }

    /// The context of a directory's content; `None` where the directory is not entered.
    fn context(&mut self, directory: &[u8]) -> Option<DirectoryContext> {
        if let Some(known) = self.directories.get(directory) {
            return known.clone();
        }
        let context = match directory {
            b"" => Some(self.enter(directory, None)),
            _ => self.context(bytes::parent(directory)).and_then(|outer| {
                let full = bytes::join(self.project, directory);
                let is_entered = self.files.is_directory(&full)
                    && !self.files.is_unreadable_folder(&full)
                    && !self.is_base(directory)
                    && !self.capturer.ignored(&outer.ignores, directory, true, true);
                is_entered.then(|| self.enter(directory, Some(outer)))
            }),
        };
        self.directories.insert(ByteString::from(directory), context.clone());
        context
    }

    /// The context of a directory's content: its ignore files, and whether it is in a nested repository.
    ///
    /// Implements [`rules::CAPTURE_GITIGNORE`] and [`rules::CAPTURE_OWN_IGNORE_FILE`].
    fn enter(&self, directory: &[u8], outer: Option<DirectoryContext>) -> DirectoryContext {
        let inside =
            |name: &[u8]| self.files.get(&bytes::join(self.project, &bytes::join(directory, name)));
        let is_nested = outer.is_some() && inside(b".git").is_some();
        let nested_repository =
            is_nested || outer.as_ref().is_some_and(|outer| outer.nested_repository);
        let is_named = outer.as_ref().is_some_and(|outer| {
            outer.is_named || self.capturer.excludes.excludes(&[], directory, true)
        });
        let is_entered_by_own = outer.as_ref().is_some_and(|outer| {
            outer.is_entered_by_own
                || self.capturer.is_decided_by_own(&outer.ignores, directory, true)
        });
        let mut ignores = outer.and_then(|outer| outer.ignores);
        for IgnoreFileName { name, is_own } in &self.capturer.ignore_files {
            if let Some(Node::File { content, readable: true, .. }) = inside(name) {
                let directory = ByteString::from(directory);
                let file = IgnoreFile::parse(content);
                let is_own = *is_own;
                let above = ignores.take();
                ignores = Some(Rc::new(IgnoreChain { directory, file, is_own, above }));
            }
        }
        DirectoryContext { ignores, nested_repository, is_named, is_entered_by_own }
    }
}

/// The permission bits of the folders of a project that differ from the default.
fn folder_permissions(files: &Files, project: &[u8]) -> PathMap<u32> {
    let inside = files.explicit_folder_permissions().filter_map(|(full, bits)| {
        let path = if **full == *project { Some(&b""[..]) } else { bytes::below(project, full) };
        path.map(|path| (ByteString::from(path), bits))
    });
    inside.collect()
}

impl Captured {
    /// Replaces what was captured of these paths before by what is captured now.
    fn replace(&mut self, paths: &[ByteString], before: &Captured, now: Captured) {
        for path in paths {
            self.tree.remove(path);
            self.permissions.remove(path);
            self.despite.remove(path);
            self.left_out.remove(path);
            self.unrecorded.remove(path);
            self.closed.remove(path);
        }
        for (path, entry) in now.tree {
            self.tree.insert(path, entry);
        }
        for (path, bits) in now.permissions {
            self.permissions.insert(path, bits);
        }
        for (path, rules) in now.despite {
            self.despite.insert(path, rules);
        }
        self.left_out.extend(now.left_out);
        self.unrecorded.extend(now.unrecorded);
        self.closed.extend(now.closed);
        for (id, (rule, count)) in now.tested {
            self.tested.entry(id).or_insert((rule, 0)).1 += count;
        }
        for (id, (_, count)) in &before.tested {
            self.tested.entry(id).and_modify(|(_, tested)| *tested -= count);
        }
        self.tested.retain(|_, (_, count)| *count > 0);
    }
}

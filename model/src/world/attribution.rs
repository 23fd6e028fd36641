//! Attribution: what an agent reported about its tools, and all other events on files, in order.
//!
//! A subject sees a file only when the agent reports something about it. So attribution has two bounds: an
//! external edit must be noticed if its effect was visible at such a report, and may be noticed if it
//! happened at all.

use super::World;
use crate::bytes::{self, ByteString};
use crate::edit::Edit;
use crate::files::{Files, Node};
use crate::observation::Observation;
use crate::request::Request;
use crate::tree::Entry;
use std::collections::BTreeMap;

/// The entry at a path that a checkpoint could hold, if any; `None` where the file cannot be read.
type ObservedEntry = Option<Option<Entry>>;

/// An event on a path, which is relative to the world's root.
#[derive(Clone, Debug)]
enum FileEvent {
    /// The agent reported for this project that one of its tools is about to write the file.
    ToolBegins(ByteString),
    /// The agent reported for this project that the tool has written.
    ToolEnds(ByteString),
    /// The agent reported something, and it is unknown whether that is still recorded.
    MaybeForgotten,
    /// The file changed: by a restore of the project `restored`, or else by an edit.
    Changed { from: ObservedEntry, to: ObservedEntry, restored: Option<ByteString> },
}

/// All events on files, and when checkpoints were taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Attribution {
    log: Vec<(ByteString, FileEvent)>,
    /// The length of the log when each checkpoint was taken, by the checkpoint's id.
    log_lengths: BTreeMap<String, usize>,
}

/// Whether an external edit, not by the agent, changed a path since a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExternalEdit {
    /// It was changed, and the change shows.
    Yes,
    /// It may have been changed.
    Unclear,
    /// It was not changed.
    No,
}

fn entry_of(node: Option<&Node>) -> ObservedEntry {
    match node {
        Some(Node::File { readable: false, .. }) => None,
        Some(Node::File { content, executable, .. }) => {
            Some(Some(Entry::File { content: content.clone(), executable: *executable }))
        }
        Some(Node::Link { target }) => Some(Some(Entry::Link { target: target.clone() })),
        Some(Node::Directory | Node::Special(_)) | None => Some(None),
    }
}

fn differ(left: &ObservedEntry, right: &ObservedEntry) -> bool {
    matches!((left, right), (Some(left), Some(right)) if left != right)
}

impl Attribution {
    /// Records the changes between the files before and after an edit or a restore.
    pub(super) fn record_changes(
        &mut self,
        before: &Files,
        after: &Files,
        restored: Option<&ByteString>,
    ) {
        self.log.extend(before.differences(after).into_iter().map(|found| {
            let from = entry_of(found.older);
            let to = entry_of(found.newer);
            (found.path.clone(), FileEvent::Changed { from, to, restored: restored.cloned() })
        }));
    }

    /// Makes it unknown whether the reports for a project are still recorded: its history was removed, or
    /// a restore was interrupted.
    pub(super) fn doubt_reports(&mut self, project: &ByteString) {
        for (_, event) in &mut self.log {
            if is_report_for(event, project) {
                *event = FileEvent::MaybeForgotten;
            }
        }
    }
}

impl World {
    /// Whether external edits are judged.
    fn judges_attribution(&self) -> bool {
        self.has("restore.others")
    }

    /// The files that an edit can change, where attribution is judged: those at its paths, above them
    /// and below them. A world may have many others.
    pub(super) fn files_around(&self, edit: &Edit) -> Files {
        if !self.judges_attribution() {
            return Files::default();
        }
        let node_at = |path: &[u8]| Some((ByteString::from(path), self.files.get(path)?.clone()));
        let mut around = Files::default();
        for path in edit.paths() {
            let above = bytes::ancestors(path).chain([&path[..]]).filter_map(node_at);
            let below = self.files.below(path).map(|(path, node)| (path.clone(), node.clone()));
            above.chain(below).for_each(|(path, node)| around.insert(&path, node));
        }
        around
    }

    /// Records the agent's reports, the new checkpoints and the changes of a restore.
    pub(super) fn learn_attribution(&mut self, seen: &Observation) {
        if !self.judges_attribution() {
            return;
        }
        let before_tools = seen.protected().filter_map(|(_, id)| id);
        for id in seen.taken().into_iter().chain(before_tools) {
            self.attribution.log_lengths.insert(id.clone(), self.attribution.log.len());
        }
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let Some(project) = project else { return };
        match &seen.request {
            Request::ToolWrites { path, .. } | Request::ToolWrote { path, .. } => {
                let begins = matches!(seen.request, Request::ToolWrites { .. });
                // Before the first checkpoint there is nothing to compare with.
                if self.settings.enabled && !self.listed(&project).is_empty() {
                    let full = ByteString::from(&bytes::join(&project, path)[..]);
                    let event = if begins { FileEvent::ToolBegins } else { FileEvent::ToolEnds };
                    self.attribution.log.push((full, event(project)));
                }
            }
            request if request.restores() => {
                self.attribution.record_changes(&self.files, &seen.files, Some(&project));
            }
            _ => {}
        }
    }

    /// Whether the agent reported anything for a project since a checkpoint; `None` where it is unknown
    /// when the checkpoint was taken.
    pub(crate) fn has_reports_since(&self, project: &ByteString, id: &str) -> Option<bool> {
        let first = *self.attribution.log_lengths.get(id)?;
        Some(self.attribution.log[first..].iter().any(|(_, event)| is_report_for(event, project)))
    }

    /// Whether an external edit changed a path of a project since the checkpoint `id`, which recorded
    /// this entry at the path.
    pub(crate) fn external_edit(
        &self,
        project: &ByteString,
        path: &[u8],
        id: &str,
        recorded: Option<&Entry>,
    ) -> ExternalEdit {
        let first = self.attribution.log_lengths.get(id).copied();
        let Some(first) = first else { return ExternalEdit::Unclear };
        let full = ByteString::from(&bytes::join(project, path)[..]);
        let mut has_reports =
            self.attribution.log[..first].iter().any(|(_, event)| is_report_for(event, project));
        let mut search = EditSearch::default();
        for (event_path, event) in &self.attribution.log[first..] {
            if *event_path == full {
                search.apply(event, project, has_reports, recorded);
            }
            has_reports |= is_report_for(event, project);
        }
        // What did not change since, and is not recorded, existed and was not captured.
        if recorded.is_none() && search.baseline.is_none() {
            ExternalEdit::Unclear
        } else {
            search.finish()
        }
    }
}

fn is_report_for(event: &FileEvent, project: &ByteString) -> bool {
    matches!(event, FileEvent::ToolBegins(reported) | FileEvent::ToolEnds(reported)
        if reported == project)
}

/// A search through all events on one path.
#[derive(Default)]
struct EditSearch {
    /// The entry when the agent or a restore last left the path, or the checkpoint was taken.
    baseline: Option<ObservedEntry>,
    /// The entry after the last event.
    current: Option<ObservedEntry>,
    /// Whether a tool of the agent is writing the path.
    is_tool_open: bool,
    /// Whether there are changes that are the agent's if it reports that it has written.
    pending: bool,
    /// Whether an external edit changed the path since the baseline.
    is_changed: bool,
    /// Whether a change since cannot be attributed.
    is_unclear: bool,
    may: bool,
    must: bool,
}

impl EditSearch {
    fn apply(
        &mut self,
        event: &FileEvent,
        project: &ByteString,
        has_reports: bool,
        recorded: Option<&Entry>,
    ) {
        match event {
            FileEvent::ToolBegins(reported) if reported == project && !self.is_tool_open => {
                self.check();
                self.is_tool_open = true;
            }
            FileEvent::ToolEnds(reported) if reported == project => {
                if !self.is_tool_open {
                    // The entry before the tool is unknown: the tool may have made all changes.
                    self.is_changed = false;
                }
                (self.is_tool_open, self.pending) = (false, false);
                self.set_baseline();
            }
            FileEvent::ToolBegins(_) | FileEvent::ToolEnds(_) => {}
            FileEvent::MaybeForgotten => self.is_unclear = true,
            FileEvent::Changed { from, to, restored } => {
                self.start(from, recorded);
                match restored {
                    Some(restored) if restored == project && has_reports && !self.is_tool_open => {
                        self.check();
                        self.current = Some(to.clone());
                        self.set_baseline();
                    }
                    Some(_) => self.is_unclear = true,
                    None if self.is_tool_open => self.pending = true,
                    None => (self.is_changed, self.may) = (true, true),
                }
                self.current = Some(to.clone());
            }
        }
    }

    /// Starts with the entry of the checkpoint. A path without an entry did not exist, or was not
    /// captured: then it is unknown whether it is what the agent found.
    fn start(&mut self, from: &ObservedEntry, recorded: Option<&Entry>) {
        if self.baseline.is_none() {
            let is_known = recorded.is_some() || *from == Some(None);
            self.baseline = Some(if is_known { Some(recorded.cloned()) } else { None });
            self.may |= !is_known;
        }
    }

    /// Compares the current entry with the baseline, as a subject can when the agent reports.
    fn check(&mut self) {
        let entries = self.baseline.as_ref().zip(self.current.as_ref());
        let shows = entries.is_some_and(|(baseline, current)| differ(baseline, current));
        self.must |= self.is_changed && !self.is_unclear && shows;
        self.may |= self.is_unclear;
    }

    /// Makes the current entry the baseline: the agent or a restore left it so.
    fn set_baseline(&mut self) {
        self.baseline = self.current.clone().or(self.baseline.take());
        self.may |= self.is_unclear;
        (self.is_changed, self.is_unclear) = (false, false);
    }

    fn finish(mut self) -> ExternalEdit {
        self.is_unclear |= self.pending;
        self.check();
        match (self.must, self.may) {
            (true, _) => ExternalEdit::Yes,
            (false, true) => ExternalEdit::Unclear,
            (false, false) => ExternalEdit::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Layout, Settings};
    use pretty_assertions::assert_eq;

    /// Edits of files with `a/b/f`, `a/g`, `a0` and a link `c`, many of which remove an obstacle.
    fn edits() -> Vec<Edit> {
        let write = |path: &str| Edit::Write {
            path: path.into(),
            content: b"new"[..].into(),
            executable: false,
        };
        let rename = |from: &str, to: &str| Edit::Rename { from: from.into(), to: to.into() };
        vec![
            write("a/g"),
            write("a"),
            write("c/d/e"),
            write("n/e/w"),
            rename("a/b", "a0/x"),
            rename("a", "c"),
            rename("a0", "a/b"),
            rename("a/b", "a"),
            Edit::Remove { path: "a".into() },
            Edit::Remove { path: "c/d".into() },
            Edit::Link { path: "a/b".into(), target: "g".into() },
            Edit::HardLink { path: "c/d".into(), to: "a/g".into() },
            Edit::SetReadable { path: "a/g".into(), readable: false },
        ]
    }

    #[test]
    fn files_around_an_edit_include_every_path_that_the_edit_changes() {
        let home = || ByteString::from("home");
        let layout = Layout { root: "/".into(), home: home(), current: home(), base: home() };
        let has = ["restore.others"].into_iter().collect();
        let mut world = World::new(Files::default(), layout, Settings::default(), has, 0);
        for path in ["a/b/f", "a/g", "a0"] {
            world.edit(&Edit::Write { path: path.into(), content: path.into(), executable: false });
        }
        world.edit(&Edit::Link { path: "c".into(), target: "a".into() });
        let mut changed = 0;
        for edit in edits() {
            let mut edited = world.clone();
            let mut complete = Attribution::default();
            edited.edit(&edit);
            complete.record_changes(&world.files, &edited.files, None);
            let recorded = &edited.attribution.log[world.attribution.log.len()..];
            assert_eq!(format!("{recorded:?}"), format!("{:?}", complete.log), "{edit:?}");
            changed += complete.log.len();
        }
        assert!(changed > 20, "{changed}");
    }
}

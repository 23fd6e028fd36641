//! Whose hand changed a file: what an agent told of its tools, and all that happened to files
//! otherwise, in its order.
//!
//! Who is told can only see what stands at a path when it is told. So whose hand it was is a range:
//! what must be noticed shows there, and what may be noticed happened.

use super::World;
use crate::bytes::{self, ByteString};
use crate::edit::Edit;
use crate::files::{Files, Node};
use crate::observation::Observation;
use crate::request::Request;
use crate::tree::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// What stands at a path, as far as a checkpoint could hold it; none where that cannot be read.
type Standing = Option<Option<Entry>>;

/// One thing that happened to a path, which is relative to the world's root.
#[derive(Clone, Debug)]
enum Happened {
    /// The agent told this project that one of its tools is about to write there.
    Begins(ByteString),
    /// The tool has written.
    Ends(ByteString),
    /// It changed: by a restore of that project, or else by whoever edits files.
    Changed { from: Standing, to: Standing, restored: Option<ByteString> },
}

/// All that happened to files, and when checkpoints were taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Hands {
    log: Vec<(ByteString, Happened)>,
    /// How much of the log was before each checkpoint, by its id.
    taken: BTreeMap<String, usize>,
}

/// Whether another hand than the agent's changed a path since a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Another {
    /// It did, and that shows.
    Did,
    /// It may have.
    Unclear,
    /// It did not.
    DidNot,
}

fn standing(files: &Files, path: &[u8]) -> Standing {
    match files.get(path) {
        Some(Node::File { readable: false, .. }) => None,
        Some(Node::File { content, executable, .. }) => {
            Some(Some(Entry::File { content: content.clone(), executable: *executable }))
        }
        Some(Node::Link { target }) => Some(Some(Entry::Link { target: target.clone() })),
        Some(Node::Directory | Node::Special(_)) | None => Some(None),
    }
}

fn differ(one: &Standing, other: &Standing) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

impl Hands {
    /// Takes in what differs between two sets of files, the second of which came after the first.
    pub(super) fn changed(&mut self, before: &Files, after: &Files, restored: Option<&ByteString>) {
        let paths: BTreeSet<_> = before.iter().chain(after.iter()).map(|(path, _)| path).collect();
        let changes = paths.into_iter().filter(|path| before.get(path) != after.get(path));
        self.log.extend(changes.map(|path| {
            let (from, to) = (standing(before, path), standing(after, path));
            (path.clone(), Happened::Changed { from, to, restored: restored.cloned() })
        }));
    }

    /// Nothing of what was told a project is remembered any more: it was removed with its history.
    pub(super) fn forget(&mut self, project: &ByteString) {
        for (_, happened) in &mut self.log {
            if let Happened::Begins(told) | Happened::Ends(told) = happened
                && told == project
            {
                *told = ByteString::default();
            }
        }
    }
}

impl World {
    /// Whether it is asked whose hand changed a file.
    fn knows_hands(&self) -> bool {
        self.has("restore.others")
    }

    /// The files that an edit can change, where it will be asked who changed them: those at its paths,
    /// on the way to them and below them. A world may have many others.
    pub(super) fn around(&self, edit: &Edit) -> Files {
        if !self.knows_hands() {
            return Files::default();
        }
        let at = |path: &[u8]| Some((ByteString::from(path), self.files.get(path)?.clone()));
        let mut around = Files::default();
        for path in edit.paths() {
            let to = bytes::ancestors(path).chain([&path[..]]).filter_map(at);
            let below = self.files.below(path).map(|(path, node)| (path.clone(), node.clone()));
            to.chain(below).for_each(|(path, node)| around.insert(&path, node));
        }
        around
    }

    /// Takes in what was told, taken and restored.
    pub(super) fn learn_hands(&mut self, seen: &Observation) {
        if !self.knows_hands() {
            return;
        }
        let before_tools = seen.protected().filter_map(|(_, id)| id);
        for id in seen.taken().into_iter().chain(before_tools) {
            self.hands.taken.insert(id.clone(), self.hands.log.len());
        }
        let project = seen.request.dir().and_then(|dir| self.canonical(dir));
        let Some(project) = project else { return };
        match &seen.request {
            Request::ToolWrites { path, .. } | Request::ToolWrote { path, .. } => {
                let begins = matches!(seen.request, Request::ToolWrites { .. });
                // Before the first checkpoint there is nothing to compare with.
                if self.settings.enabled && !self.listed(&project).is_empty() {
                    let full = ByteString::from(&bytes::join(&project, path)[..]);
                    let told = if begins { Happened::Begins } else { Happened::Ends };
                    self.hands.log.push((full, told(project)));
                }
            }
            request if request.restores() => {
                self.hands.changed(&self.files, &seen.files, Some(&project));
            }
            _ => {}
        }
    }

    /// Whether the agent told a project anything since a checkpoint; none where it is not known when
    /// that was taken.
    pub(crate) fn is_told_since(&self, project: &ByteString, id: &str) -> Option<bool> {
        let first = *self.hands.taken.get(id)?;
        Some(self.hands.log[first..].iter().any(|(_, happened)| is_told(happened, project)))
    }

    /// Whether another hand changed a path of a project since a checkpoint that holds this there.
    pub(crate) fn another(
        &self,
        project: &ByteString,
        path: &[u8],
        (id, recorded): (&str, Option<&Entry>),
    ) -> Another {
        let Some(first) = self.hands.taken.get(id).copied() else { return Another::Unclear };
        let full = ByteString::from(&bytes::join(project, path)[..]);
        let mut was_told = self.hands.log[..first].iter().any(|(_, one)| is_told(one, project));
        let mut search = Search::default();
        for (at, happened) in &self.hands.log[first..] {
            if *at == full {
                search.take_in(happened, project, was_told, recorded);
            }
            was_told |= is_told(happened, project);
        }
        // What did not change since, and is not held, stood there and was not captured.
        if recorded.is_none() && search.left.is_none() { Another::Unclear } else { search.end() }
    }
}

fn is_told(happened: &Happened, project: &ByteString) -> bool {
    matches!(happened, Happened::Begins(told) | Happened::Ends(told) if told == project)
}

/// What is found on the way through all that happened to one path.
#[derive(Default)]
struct Search {
    /// What stood there when the agent or a restore left it, or the checkpoint was taken.
    left: Option<Standing>,
    /// What stands there.
    now: Option<Standing>,
    /// Whether a tool of the agent writes there.
    is_open: bool,
    /// Changes that are the agent's if it tells that it has written.
    pending: bool,
    /// Another hand changed it since it was left.
    is_changed: bool,
    /// Something happened since that nobody can tell apart.
    is_unclear: bool,
    may: bool,
    must: bool,
}

impl Search {
    fn take_in(
        &mut self,
        happened: &Happened,
        project: &ByteString,
        was_told: bool,
        recorded: Option<&Entry>,
    ) {
        match happened {
            Happened::Begins(told) if told == project && !self.is_open => {
                self.look();
                self.is_open = true;
            }
            Happened::Ends(told) if told == project => {
                if !self.is_open {
                    // What stood there before is not known: it may all have been the tool.
                    self.is_changed = false;
                }
                (self.is_open, self.pending) = (false, false);
                self.leave();
            }
            Happened::Begins(_) | Happened::Ends(_) => {}
            Happened::Changed { from, to, restored } => {
                self.start(from, recorded);
                match restored {
                    Some(restored) if restored == project && was_told && !self.is_open => {
                        self.look();
                        self.now = Some(to.clone());
                        self.leave();
                    }
                    Some(_) => self.is_unclear = true,
                    None if self.is_open => self.pending = true,
                    None => (self.is_changed, self.may) = (true, true),
                }
                self.now = Some(to.clone());
            }
        }
    }

    /// What the checkpoint holds stood there first. What it does not hold was not there, or was not
    /// captured: then nobody knows whether it was the same that the agent found there.
    fn start(&mut self, from: &Standing, recorded: Option<&Entry>) {
        if self.left.is_none() {
            let is_known = recorded.is_some() || *from == Some(None);
            self.left = Some(if is_known { Some(recorded.cloned()) } else { None });
            self.may |= !is_known;
        }
    }

    /// Somebody looks at what stands there.
    fn look(&mut self) {
        let ends = self.left.as_ref().zip(self.now.as_ref());
        let shows = ends.is_some_and(|(left, now)| differ(left, now));
        self.must |= self.is_changed && !self.is_unclear && shows;
        self.may |= self.is_unclear;
    }

    /// It is as the agent or a restore left it.
    fn leave(&mut self) {
        self.left = self.now.clone().or(self.left.take());
        self.may |= self.is_unclear;
        (self.is_changed, self.is_unclear) = (false, false);
    }

    fn end(mut self) -> Another {
        self.is_unclear |= self.pending;
        self.look();
        match (self.must, self.may) {
            (true, _) => Another::Did,
            (false, true) => Another::Unclear,
            (false, false) => Another::DidNot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Layout, Settings};
    use pretty_assertions::assert_eq;

    /// Edits of a world with `a/b/f`, `a/g`, `a0` and a link `c`, in which much gives way.
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
    fn all_that_an_edit_changes_is_at_its_paths_on_the_way_to_them_or_below_them() {
        let place = || ByteString::from("home");
        let layout = Layout { root: "/".into(), home: place(), current: place(), base: place() };
        let has = ["restore.others"].into_iter().collect();
        let mut world = World::new(Files::default(), layout, Settings::default(), has, 0);
        for path in ["a/b/f", "a/g", "a0"] {
            world.edit(&Edit::Write { path: path.into(), content: path.into(), executable: false });
        }
        world.edit(&Edit::Link { path: "c".into(), target: "a".into() });
        let mut changed = 0;
        for edit in edits() {
            let (mut edited, mut whole) = (world.clone(), Hands::default());
            edited.edit(&edit);
            whole.changed(&world.files, &edited.files, None);
            let noted = &edited.hands.log[world.hands.log.len()..];
            assert_eq!(format!("{noted:?}"), format!("{:?}", whole.log), "{edit:?}");
            changed += whole.log.len();
        }
        assert!(changed > 20, "{changed}");
    }
}

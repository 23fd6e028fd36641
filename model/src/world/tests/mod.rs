//! The world as its caller sees it, request by request; each kind of request has a file.

mod checkpoint;
mod listing;
mod maintenance;
mod restore;
mod restore_file;
mod scope;

use super::*;
use crate::answer::Code;
use crate::expected::{CheckpointKind, ExpectedCheckpoint};
use crate::files::Node;

/// When every scene begins.
const START: i64 = 1_000_000;

/// A world that is asked and edited in few words. Its root is `/world`, relative paths start at
/// `work`, where the projects `alpha` and `beta` are, and the base is below the home directory.
struct Scene {
    world: World,
    /// How many ids were given out.
    ids: usize,
}

impl Scene {
    fn new() -> Scene {
        Scene::of(Dialect::default())
    }

    fn of(dialect: Dialect) -> Scene {
        let layout = Layout {
            root: "/world".into(),
            home: "home".into(),
            current: "work".into(),
            base: "home/.hermes/checkpoints".into(),
        };
        let world = World::new(Files::default(), layout, Settings::default(), dialect, START);
        let mut scene = Scene { world, ids: 0 };
        for path in ["home", "work/alpha", "work/beta"] {
            scene.world.edit(&Edit::MakeDirectory { path: path.into() });
        }
        scene
    }

    fn write(&mut self, path: &str, content: &str) {
        let (path, content) = (path.into(), content.into());
        self.world.edit(&Edit::Write { path, content, executable: false });
    }

    fn remove(&mut self, path: &str) {
        self.world.edit(&Edit::Remove { path: path.into() });
    }

    fn link(&mut self, path: &str, target: &str) {
        self.world.edit(&Edit::Link { path: path.into(), target: target.into() });
    }

    /// Lets time pass.
    fn wait(&mut self, seconds: i64) {
        self.world.step(&Request::SetClock { seconds: self.world.seconds() + seconds });
    }

    /// Asks for a checkpoint by hand; a new one gets the next [`id`].
    fn take(&mut self, dir: &str) -> Box<ExpectedCheckpoint> {
        let request = Request::Checkpoint { dir: dir.into(), reason: format!("of {dir}") };
        self.taken(&request)
    }

    /// Asks for an automatic checkpoint; a new one gets the next [`id`].
    fn ensure(&mut self, dir: &str) -> Box<ExpectedCheckpoint> {
        self.taken(&Request::EnsureCheckpoint { dir: dir.into(), reason: "ensured".into() })
    }

    fn taken(&mut self, request: &Request) -> Box<ExpectedCheckpoint> {
        match self.world.step(request) {
            Expected::Checkpoint(taken) => {
                if taken.kind == CheckpointKind::Created {
                    self.ids += 1;
                    self.world.learn_id(&taken.project, &id(self.ids));
                }
                taken
            }
            other => panic!("{request:?} came to {other:?}"),
        }
    }

    /// The codes and rules with which a checkpoint of the place is refused.
    fn take_refused(&mut self, dir: &str) -> Vec<(&'static [Code], &'static str)> {
        refusals(&self.world.step(&Request::Checkpoint { dir: dir.into(), reason: "r".into() }))
    }

    /// The paths in the project, relative to it, with a slash after each directory.
    fn paths(&self, project: &str) -> Vec<String> {
        let below = self.world.files.below(project.as_bytes());
        below
            .map(|(path, node)| {
                let name = path.to_string()[project.len() + 1..].to_owned();
                if *node == Node::Directory { name + "/" } else { name }
            })
            .collect()
    }

    /// What the file at the path holds.
    fn content(&self, path: &str) -> Option<&str> {
        match self.world.files.get(path.as_bytes()) {
            Some(Node::File { content, .. }) => std::str::from_utf8(content).ok(),
            _ => None,
        }
    }
}

/// The id of the checkpoint of that number in a scene.
fn id(number: usize) -> String {
    format!("{number}f").repeat(20)
}

fn refusals(expected: &Expected) -> Vec<(&'static [Code], &'static str)> {
    match expected {
        Expected::Refused(all) => all.iter().map(|one| (one.codes, one.rule.id)).collect(),
        other => panic!("not refused but {other:?}"),
    }
}

/// Paths as text, in their order.
fn texts<'a>(paths: impl IntoIterator<Item = &'a ByteString>) -> Vec<String> {
    paths.into_iter().map(ByteString::to_string).collect()
}

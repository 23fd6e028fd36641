//! What one damage may cost, and what it must not.
//!
//! | damaged | what it may cost |
//! |---|---|
//! | a blob or tree of its own file | the checkpoints whose tree reaches it |
//! | a commit of its own file | its own checkpoint; those before it are still asked for, under a name of their own ([`Rule::BehindACommit`]), since in git's layout only it names them |
//! | a pack or its index | the checkpoints that need an object of which no other copy is stored |
//! | an object that nothing needs, or of which there is another copy | nothing |
//! | a ref | its project, where the metadata does not name the newest checkpoint, or where a link leads to another ref, which cannot be told from a true one; otherwise nothing |
//! | packed-refs | the same for every project without a ref of its own file |
//! | the index or metadata of a project | nothing; but who sweeps may believe metadata that says something else |
//! | HEAD, config, shallow, usage, info, what only makes git faster, any other file | nothing; but what is excluded may be something else then |
//!
//! What stands in the way of a file (a fifo, a folder) costs nothing either, but that is asked for
//! under a name of its own, too ([`Rule::InTheWay`]). Whatever is damaged: every question is
//! answered, and no answer is a lie.

use super::harm::{Damage, Harm};
use super::judge::Rule;
use super::past::{Past, Which, needs};
use super::places::Kind;
use crate::sandbox::stock::Stock;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What may be lost.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// The objects of which no other copy is stored.
    pub lost: BTreeSet<String>,
    /// The checkpoints that need what is lost.
    pub affected: BTreeSet<Which>,
    /// Those that are whole and older than one whose commit is lost.
    behind: BTreeSet<Which>,
    /// Projects of which the newest checkpoint has lost its commit.
    headless: BTreeSet<usize>,
    /// Projects of which nothing but honesty is asked.
    pub excused: BTreeSet<usize>,
    /// The project that a sweep may take for another one.
    pub mistaken: Option<usize>,
    /// Whether what a checkpoint takes may be something else from now on.
    pub captures_otherwise: bool,
    /// Whether something stands in the way of a file that holds no object.
    blocked: bool,
    /// Projects that hold what is lost still, while something stands in the way of storing it again.
    blocked_takes: BTreeSet<usize>,
}

impl Cost {
    /// What that damage to the store, which is whole yet, may cost.
    pub fn of(damage: &Damage, past: &Past, stock: &Stock, store: &Path) -> Cost {
        let (place, harm) = (&damage.place, damage.harm);
        let lost = stock.only_in(place);
        let without_commit: BTreeSet<Which> = past
            .checkpoints()
            .filter(|(_, checkpoint)| lost.contains(&checkpoint.id))
            .map(|(which, _)| which)
            .collect();
        let affected: BTreeSet<Which> = past
            .checkpoints()
            .filter(|(_, checkpoint)| !needs(checkpoint).is_disjoint(&lost))
            .map(|(which, _)| which)
            .collect();
        let is_behind = |which: &Which| {
            let mut lost = without_commit.iter();
            lost.any(|one| one.project == which.project && one.at > which.at)
        };
        let all = past.checkpoints().map(|(which, _)| which);
        let behind = all.filter(|which| !affected.contains(which) && is_behind(which)).collect();
        let newest =
            |which: &&Which| which.at + 1 == past.projects[which.project].checkpoints.len();
        let holds_objects = place.kind.holds_objects();
        let blocked_takes = affected.iter().filter(newest).map(|which| which.project);
        let blocked_takes = blocked_takes.filter(|_| holds_objects && harm.blocks()).collect();
        Cost {
            lost,
            affected,
            behind,
            headless: without_commit.iter().filter(newest).map(|which| which.project).collect(),
            excused: excused(damage, past, store),
            mistaken: place.project.filter(|_| place.kind == Kind::Metadata && harm.may_mislead()),
            captures_otherwise: place.kind == Kind::Info && harm.may_mislead(),
            blocked: !holds_objects && harm.blocks(),
            blocked_takes,
        }
    }

    /// What is broken if this checkpoint is not as before; nothing where that may be.
    pub fn rule(&self, which: Which) -> Option<Rule> {
        if self.affected.contains(&which) || self.excused.contains(&which.project) {
            return None;
        }
        Some(match self.behind.contains(&which) {
            true => Rule::BehindACommit,
            false if self.blocked => Rule::InTheWay,
            false => Rule::CostsMore,
        })
    }

    /// What is broken if no checkpoint of the project is taken; nothing where that may be.
    pub fn rule_of_take(&self, project: usize) -> Option<Rule> {
        if self.excused.contains(&project) || self.captures_otherwise {
            return None;
        }
        Some(match self.headless.contains(&project) {
            true => Rule::BehindACommit,
            false if self.blocked || self.blocked_takes.contains(&project) => Rule::InTheWay,
            false => Rule::CostsMore,
        })
    }
}

/// The projects whose newest checkpoint nothing names any more.
fn excused(damage: &Damage, past: &Past, store: &Path) -> BTreeSet<usize> {
    let (place, harm) = (&damage.place, damage.harm);
    let excused = |(project, hash): (usize, &str)| match place.kind {
        // A link leads to what may be another project's newest checkpoint.
        Kind::Ref if harm == Harm::LinkToAnother && damage.other.is_some() => true,
        Kind::Ref => !metadata_names_the_newest(past, project, store),
        Kind::PackedRefs => {
            let has_own = store.join("refs/hermes").join(hash).exists();
            !has_own && !metadata_names_the_newest(past, project, store)
        }
        _ => false,
    };
    let all = past.projects.iter().enumerate().map(|(number, one)| (number, &one.hash[..]));
    let own = |(number, _): &(usize, &str)| place.project.is_none_or(|project| project == *number);
    all.filter(own).filter(|one| excused(*one)).map(|(number, _)| number).collect()
}

fn metadata_names_the_newest(past: &Past, project: usize, store: &Path) -> bool {
    let project = &past.projects[project];
    let text = fs::read_to_string(store.join("projects").join(format!("{}.json", project.hash)));
    let newest = project.checkpoints.last();
    text.is_ok_and(|text| newest.is_some_and(|newest| text.contains(&newest.id)))
}

#[cfg(test)]
mod tests {
    use super::super::past::{Checkpoint, Project};
    use super::super::places::Place;
    use super::super::plan::file;
    use super::*;
    use crate::git_objects::blob_id;
    use herma_model::Tree;
    use std::path::PathBuf;

    /// Two projects of three checkpoints each; `shared` is in the last two of both, `first` in the
    /// first of the first alone.
    fn past() -> Past {
        let tree = |own: &str, shared: bool| {
            let mut tree = Tree::from([("own".into(), file(own))]);
            if shared {
                tree.insert("a/shared".into(), file("shared"));
            }
            tree
        };
        let project = |number: usize, name| {
            let at = |at: usize| Checkpoint {
                id: format!("{number}{at}").repeat(20),
                tree: tree(&format!("{number} {at}"), at > 0),
            };
            let hash = format!("{number}").repeat(16);
            let start = Tree::new();
            Project { name, dir: name.into(), hash, start, checkpoints: (0..3).map(at).collect() }
        };
        Past { projects: vec![project(0, "alpha"), project(1, "beta")], most: None }
    }

    fn damage(kind: Kind, path: &str, harm: Harm, object: Option<String>) -> Damage {
        let project = past().project_of(path.rsplit('/').next().unwrap().trim_end_matches(".json"));
        let place = Place { path: path.into(), kind, name: path.into(), bytes: 1, object, project };
        Damage { other: Some(place.clone()), place, harm, spot: 0 }
    }

    fn stock() -> Stock {
        let all: BTreeSet<String> =
            past().checkpoints().flat_map(|(_, checkpoint)| needs(checkpoint)).collect();
        Stock { loose: all, ..Stock::default() }
    }

    fn object(id: &str, kind: Kind) -> Cost {
        let damage = damage(kind, "objects/xx", Harm::Emptied, Some(id.to_owned()));
        Cost::of(&damage, &past(), &stock(), Path::new("/nowhere"))
    }

    fn which(project: usize, at: usize) -> Which {
        Which { project, at }
    }

    #[test]
    fn a_blob_and_a_tree_cost_the_checkpoints_that_reach_them_in_every_project() {
        let both = BTreeSet::from([which(0, 1), which(0, 2), which(1, 1), which(1, 2)]);
        assert_eq!(object(&blob_id(b"shared").to_string(), Kind::Blob).affected, both);
        let folder = Tree::from([("shared".into(), file("shared"))]);
        let tree = crate::git_objects::tree_id(&folder).to_string();
        assert_eq!(object(&tree, Kind::Tree).affected, both);
        let first = object(&blob_id(b"0 0").to_string(), Kind::Blob);
        assert_eq!(first.affected, BTreeSet::from([which(0, 0)]));
        assert_eq!(first.rule(which(0, 1)), Some(Rule::CostsMore));
        assert_eq!(first.rule(which(0, 0)), None);
        assert_eq!(object("spare", Kind::Spare).affected, BTreeSet::new());
    }

    #[test]
    fn a_commit_costs_its_own_checkpoint_and_those_before_it_have_a_name_of_their_own() {
        let middle = object(&"01".repeat(20), Kind::Commit);
        assert_eq!(middle.affected, BTreeSet::from([which(0, 1)]));
        assert_eq!(middle.rule(which(0, 0)), Some(Rule::BehindACommit));
        assert_eq!(middle.rule(which(0, 2)), Some(Rule::CostsMore));
        assert_eq!(middle.rule(which(1, 0)), Some(Rule::CostsMore));
        assert_eq!(middle.rule_of_take(0), Some(Rule::CostsMore));
        let newest = object(&"02".repeat(20), Kind::Commit);
        assert_eq!(newest.rule_of_take(0), Some(Rule::BehindACommit));
    }

    #[test]
    fn a_pack_costs_what_is_in_no_other_place() {
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
        let (one, other) = (blob_id(b"0 0").to_string(), blob_id(b"0 1").to_string());
        let (third, all) = (blob_id(b"1 0").to_string(), stock().loose);
        let mut stock = Stock { loose: all, ..Stock::default() };
        stock.loose.retain(|id| *id != one && *id != other);
        let pack = |name: &str| PathBuf::from(format!("objects/pack/{name}"));
        stock.packs.insert(pack("1"), ids(&[&one, &other, &third]));
        stock.packs.insert(pack("2"), ids(&[&other]));
        for (kind, path) in
            [(Kind::Pack, "objects/pack/1.pack"), (Kind::PackIndex, "objects/pack/1.idx")]
        {
            let damage = damage(kind, path, Harm::Removed, None);
            let cost = Cost::of(&damage, &past(), &stock, Path::new("/nowhere"));
            assert_eq!(cost.affected, BTreeSet::from([which(0, 0)]));
        }
        let speed = damage(Kind::Speed, "objects/pack/1.rev", Harm::Removed, None);
        assert!(Cost::of(&speed, &past(), &stock, Path::new("/nowhere")).affected.is_empty());
    }

    #[test]
    fn a_ref_costs_its_project_where_nothing_else_names_the_newest_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("projects")).unwrap();
        let cost = |kind, path: &str, harm| {
            Cost::of(&damage(kind, path, harm, None), &past(), &stock(), folder.path()).excused
        };
        let own = format!("refs/hermes/{}", "0".repeat(16));
        assert_eq!(cost(Kind::Ref, &own, Harm::Removed), BTreeSet::from([0]));
        assert_eq!(cost(Kind::PackedRefs, "packed-refs", Harm::Emptied), BTreeSet::from([0, 1]));
        let metadata = folder.path().join(format!("projects/{}.json", "0".repeat(16)));
        fs::write(metadata, format!("{{\"tip\":\"{}\"}}", "02".repeat(20))).unwrap();
        assert_eq!(cost(Kind::Ref, &own, Harm::Removed), BTreeSet::new());
        assert_eq!(cost(Kind::Ref, &own, Harm::LinkToAnother), BTreeSet::from([0]));
        assert_eq!(cost(Kind::PackedRefs, "packed-refs", Harm::Emptied), BTreeSet::from([1]));
        assert_eq!(cost(Kind::Head, "HEAD", Harm::Emptied), BTreeSet::new());
    }

    #[test]
    fn what_stands_in_the_way_and_what_may_mislead_is_told_apart() {
        let cost = |kind, path: &str, harm| {
            Cost::of(&damage(kind, path, harm, None), &past(), &stock(), Path::new("/nowhere"))
        };
        let fifo = cost(Kind::Head, "HEAD", Harm::Fifo);
        assert_eq!(fifo.rule(which(0, 0)), Some(Rule::InTheWay));
        assert_eq!(
            cost(Kind::Head, "HEAD", Harm::Emptied).rule(which(0, 0)),
            Some(Rule::CostsMore)
        );
        let id = Some(blob_id(b"0 2").to_string());
        let folder = damage(Kind::Blob, "objects/xx", Harm::Folder, id);
        let folder = Cost::of(&folder, &past(), &stock(), Path::new("/nowhere"));
        assert_eq!(folder.rule(which(0, 0)), Some(Rule::CostsMore));
        assert_eq!(folder.rule_of_take(0), Some(Rule::InTheWay));
        assert_eq!(folder.rule_of_take(1), Some(Rule::CostsMore));
        let metadata = format!("projects/{}.json", "1".repeat(16));
        assert_eq!(cost(Kind::Metadata, &metadata, Harm::Flipped).mistaken, Some(1));
        assert_eq!(cost(Kind::Metadata, &metadata, Harm::Emptied).mistaken, None);
        assert!(cost(Kind::Info, "info/exclude", Harm::CutShort).captures_otherwise);
        assert_eq!(cost(Kind::Info, "info/exclude", Harm::CutShort).rule_of_take(0), None);
    }
}

//! What is wrong with a checkpoint or a restore beside which somebody worked in the project.

use super::actor::{Actor, SECRET};
use super::{Acted, Operation, SUBJECT, taken_whole};
use crate::damage::DamageError;
use crate::damage::ground::{Ground, tree_in};
use crate::damage::judge::{Broken, Rule};
use crate::damage::past::{Checkpoint, Past};
use herma_model::files::Content;
use herma_model::tree::differences;
use herma_model::{Answer, ByteString, Entry, Request, Tree};

/// Holds a new checkpoint to what may be in it, or looks for what was saved during a restore. A new
/// checkpoint in which no folder was moved becomes a part of the past with what it holds.
pub(super) fn judged(
    actor: Actor,
    operation: Operation,
    (ground, past): (&mut Ground<'_>, &mut Past),
    acted: &Acted,
) -> Result<Option<Broken>, DamageError> {
    if acted.meanwhile.is_none() {
        // The call was never reached, so nobody did anything; what it took holds a file more.
        return Ok(None);
    }
    if operation.restores() {
        // Without a checkpoint before it a restore replaces what was edited, whenever that was.
        let keeps = actor != Actor::Swap && ground.capabilities().has("restore.safety");
        return if keeps { saved(operation, ground, past, acted) } else { Ok(None) };
    }
    let Some(id) = taken_whole(&acted.answer) else { return Ok(None) };
    let Some(tree) = held(ground, past, &id)? else {
        let due = format!("the checkpoint just taken, {id}, comes back");
        let found = "it cannot be restored".to_owned();
        return Ok(Some(Broken { rule: Rule::NotAsBefore, due, found }));
    };
    let before = tree_in(&acted.before, past.projects[SUBJECT].name);
    let broken = captured(actor, operation, &before, &tree);
    // A link among the folders of what a project holds is no place for what comes next.
    if actor != Actor::Swap {
        past.projects[SUBJECT].checkpoints.push(Checkpoint { id, tree });
    }
    Ok(broken)
}

/// What a checkpoint holds, as a restore shows; none where it cannot be restored.
pub(super) fn held(
    ground: &mut Ground<'_>,
    past: &Past,
    id: &str,
) -> Result<Option<Tree>, DamageError> {
    ground.reset(None)?;
    ground.put(past, SUBJECT, &Tree::new())?;
    let mut subject = ground.open();
    ground.turn(subject.as_mut());
    let (dir, target) = (past.projects[SUBJECT].dir.clone(), id.into());
    let exact = ground.capabilities().has("restore.exact");
    let answer = subject.ask(&Request::Restore { dir, target, exact, force: false });
    let tree = tree_in(&ground.look()?, past.projects[SUBJECT].name);
    Ok(matches!(answer, Answer::Restored(_)).then_some(tree))
}

/// What is wrong with what a checkpoint holds of a project that was changed while it was taken.
fn captured(actor: Actor, operation: Operation, before: &Tree, tree: &Tree) -> Option<Broken> {
    let secret = Content::from(SECRET.as_bytes());
    let is_secret =
        |entry: &Entry| matches!(entry, Entry::File { content, .. } if *content == secret);
    if let Some((path, _)) = tree.iter().find(|(_, entry)| is_secret(entry)) {
        let due = "nothing outside the project is captured".to_owned();
        let found = format!("{path:?} holds what is outside");
        return Some(Broken { rule: Rule::CapturesElsewhere, due, found });
    }
    let place = ByteString::from(actor.place(operation));
    if actor != Actor::Swap
        && ![before.get(&place), Some(&Actor::saved())].contains(&tree.get(&place))
    {
        let due = "a file that is saved meanwhile is captured as one of its versions".to_owned();
        let found = match tree.get(&place) {
            Some(_) => format!("{place:?} is neither what it was nor what was saved"),
            None => format!("{place:?} is missing, and nobody says so"),
        };
        return Some(Broken { rule: Rule::Torn, due, found });
    }
    let is_theirs = |path: &ByteString| match actor {
        Actor::Swap => Actor::is_moved(path),
        Actor::Save | Actor::SaveOver => *path == place,
    };
    let other = differences(before, tree).into_keys().find(|path| !is_theirs(path))?;
    let due = "the checkpoint holds what nobody touched meanwhile".to_owned();
    let found = format!("{other:?} is another");
    Some(Broken { rule: Rule::NotAsBefore, due, found })
}

/// Whether what somebody saved while a restore ran is gone: neither in its place nor in a checkpoint.
fn saved(
    operation: Operation,
    ground: &mut Ground<'_>,
    past: &Past,
    acted: &Acted,
) -> Result<Option<Broken>, DamageError> {
    let project = &past.projects[SUBJECT];
    let place = ByteString::from(Actor::Save.place(operation));
    let is_there = |tree: &Tree| tree.get(&place) == Some(&Actor::saved());
    let after = tree_in(&acted.after, project.name);
    if is_there(&after) {
        return Ok(None);
    }
    ground.reset(None)?;
    let listed = ground.open().ask(&Request::List { dir: project.dir.clone() });
    let ids: Vec<String> = match listed {
        Answer::Listed(listed) => listed.into_iter().map(|one| one.id).collect(),
        _ => Vec::new(),
    };
    let is_new = |id: &&String| !project.checkpoints.iter().any(|one| one.id == **id);
    for id in ids.iter().filter(is_new) {
        if held(ground, past, id)?.is_some_and(|tree| is_there(&tree)) {
            return Ok(None);
        }
    }
    let due = "what was saved meanwhile is kept, or in a checkpoint".to_owned();
    let found = format!("{place:?} is another, and no checkpoint holds what was saved");
    Ok(Some(Broken { rule: Rule::SaveLost, due, found }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::damage::plan::file;

    fn rule(actor: Actor, change: impl FnOnce(&mut Tree)) -> Option<Rule> {
        let start = [("src/main.rs", "main"), ("b", "b")];
        let start = start.into_iter().map(|(path, text)| (path.into(), file(text))).collect();
        let before = actor.before(Operation::Take, start);
        let mut tree = before.clone();
        change(&mut tree);
        captured(actor, Operation::Take, &before, &tree).map(|broken| broken.rule)
    }

    #[test]
    fn a_file_is_one_of_its_versions_and_everything_else_is_as_it_was() {
        for actor in [Actor::Save, Actor::SaveOver] {
            let place = || ByteString::from(actor.place(Operation::Take));
            assert_eq!(rule(actor, |_| ()), None);
            let whole = |tree: &mut Tree| drop(tree.insert(place(), Actor::saved()));
            assert_eq!(rule(actor, whole), None);
            let torn = |tree: &mut Tree| drop(tree.insert(place(), file("half")));
            assert_eq!(rule(actor, torn), Some(Rule::Torn));
            assert_eq!(rule(actor, |tree| drop(tree.remove(&place()))), Some(Rule::Torn));
            let other = |tree: &mut Tree| drop(tree.remove(&ByteString::from("b")));
            assert_eq!(rule(actor, other), Some(Rule::NotAsBefore));
        }
    }

    #[test]
    fn what_is_behind_a_link_is_not_captured_and_what_was_moved_may_be() {
        let main = || ByteString::from("src/main.rs");
        assert_eq!(rule(Actor::Swap, |_| ()), None);
        assert_eq!(rule(Actor::Swap, |tree| drop(tree.remove(&main()))), None);
        let moved = |tree: &mut Tree| drop(tree.insert("src.aside/main.rs".into(), file("main")));
        assert_eq!(rule(Actor::Swap, moved), None);
        let secret = |tree: &mut Tree| drop(tree.insert(main(), file(SECRET)));
        assert_eq!(rule(Actor::Swap, secret), Some(Rule::CapturesElsewhere));
    }
}

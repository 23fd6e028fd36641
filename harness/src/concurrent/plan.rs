//! What several processes are asked in one round, as drawn: a number means the same each time.
//!
//! Files change between rounds only, or by the one restore of a round: what a checkpoint beside
//! a change of the same project holds is for no rule to say. So where a project is restored, it is
//! only listed beside that.

use super::dice::Dice;
use super::record::Contents;
use crate::protocol::capabilities::Capabilities;
use std::collections::BTreeMap;
use std::time::Duration;

/// The projects, by their places below the sandbox.
pub const PROJECTS: [&str; 2] = ["work/alpha", "work/beta"];
/// How many rounds one store serves.
pub const ROUNDS: usize = 8;
/// How many files a project holds.
const FILES: usize = 12;
/// How many checkpoints of a project some stores keep.
const FEW: usize = 3;
/// A process is killed no later than one of so many microseconds after it was asked: stores are quick
/// and slow.
const KILLED_WITHIN: [usize; 4] = [500, 2_000, 8_000, 40_000];

/// What a process is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// A checkpoint of a project.
    Take(usize),
    /// The list of a project.
    List(usize),
    /// A preview of a checkpoint of a project: that of this place in its list.
    Diff(usize, usize),
    /// A restore of one.
    Restore(usize, usize),
    /// A prune in which nothing is due but garbage.
    Prune,
    /// A sweep.
    Sweep,
    /// The status.
    Status,
}

/// A process that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// Which.
    pub process: usize,
    /// In which of its calls.
    pub call: usize,
    /// So long after it was asked.
    pub after: Duration,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the projects hold.
    pub files: BTreeMap<String, Contents>,
    /// What each process is asked.
    pub calls: Vec<Vec<Planned>>,
    /// Who is killed.
    pub kill: Option<Kill>,
    /// Whether git collects garbage meanwhile.
    pub git_collects: bool,
    /// The project that is restored when the round is over, and to which checkpoint.
    pub restored_after: (usize, usize),
}

/// How many checkpoints of a project a store keeps, where that is few.
pub fn few(seed: u64, store: u64) -> Option<usize> {
    Dice::new(seed, store, "few").once_in(3).then_some(FEW)
}

impl Plan {
    /// The round of that number in a store.
    pub fn draw(
        (seed, store, round): (u64, u64, usize),
        processes: usize,
        able: &Capabilities,
    ) -> Self {
        let mut dice = Dice::new(seed, store * ROUNDS as u64 + round as u64, "round");
        let restored = (few(seed, store).is_none() && dice.once_in(3))
            .then(|| (dice.below(PROJECTS.len()), dice.below(processes)));
        let mut calls: Vec<Vec<Planned>> = (0..processes)
            .map(|_| (0..1 + dice.below(3)).map(|_| drawn(&mut dice, able)).collect())
            .collect();
        if let Some((project, process)) = restored {
            for call in calls.iter_mut().flatten() {
                *call = beside_a_restore(*call, project);
            }
            calls[process].insert(0, Planned::Restore(project, dice.below(4)));
        }
        let victim = dice.below(processes);
        let is_killed = dice.once_in(3) && restored.is_none_or(|(_, process)| process != victim);
        let call = dice.below(calls[victim].len());
        let within = KILLED_WITHIN[dice.below(KILLED_WITHIN.len())];
        let after = Duration::from_micros(dice.below(within) as u64);
        let kill = is_killed.then_some(Kill { process: victim, call, after });
        let git_collects = able.has("layout") && dice.once_in(4);
        let restored_after = (dice.below(PROJECTS.len()), dice.below(4));
        let files = contents(seed, store, round);
        Plan { files, calls, kill, git_collects, restored_after }
    }
}

fn drawn(dice: &mut Dice, able: &Capabilities) -> Planned {
    let project = dice.below(PROJECTS.len());
    match dice.below(20) {
        0..4 => Planned::List(project),
        4..6 if able.has("diff") => Planned::Diff(project, dice.below(4)),
        6..8 if able.has("prune") => Planned::Prune,
        8 if able.has("sweep") => Planned::Sweep,
        9 if able.has("status") => Planned::Status,
        _ => Planned::Take(project),
    }
}

/// What may be asked while a project is restored.
fn beside_a_restore(call: Planned, project: usize) -> Planned {
    match call {
        Planned::Take(one) | Planned::Diff(one, _) if one == project => Planned::List(project),
        call => call,
    }
}

/// Every content is of one round and project alone; one time in four a project is as it was.
fn contents(seed: u64, store: u64, round: usize) -> BTreeMap<String, Contents> {
    let of = |project: &&str| {
        let stays = |round: &usize| {
            let number = store * ROUNDS as u64 + *round as u64;
            *round > 0 && Dice::new(seed, number, project).once_in(4)
        };
        let changed = (0..=round).rev().find(|round| !stays(round)).unwrap_or(0);
        let file = |at: usize| {
            // Half of the files are what they were.
            let since = if at.is_multiple_of(2) { changed } else { 0 };
            let path =
                format!("{}file-{at}.txt", if at.is_multiple_of(3) { "folder/" } else { "" });
            let content = format!("{project}, file {at} of round {since} in store {store}\n");
            (path.as_str().into(), content.as_str().into())
        };
        ((*project).to_owned(), (0..FILES).map(file).collect())
    };
    PROJECTS.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Plan> {
        let able = Capabilities::complete();
        let draw =
            |number: usize| Plan::draw((1, (number / ROUNDS) as u64, number % ROUNDS), 4, &able);
        (0..200).map(draw).collect()
    }

    #[test]
    fn a_number_means_the_same_round_each_time_and_all_is_drawn() {
        let plans = all();
        assert_eq!(plans, all());
        let calls: Vec<Planned> =
            plans.iter().flat_map(|plan| plan.calls.iter().flatten()).copied().collect();
        for one in [Planned::Take(1), Planned::List(0), Planned::Diff(0, 0), Planned::Restore(1, 1)]
        {
            assert!(calls.contains(&one), "{one:?}");
        }
        for one in [Planned::Prune, Planned::Sweep, Planned::Status] {
            assert!(calls.contains(&one), "{one:?}");
        }
        assert!(plans.iter().any(|plan| plan.kill.is_some()));
        assert!(plans.iter().any(|plan| plan.git_collects));
    }

    #[test]
    fn nobody_looks_at_the_files_of_a_project_that_is_restored_and_no_restore_is_killed() {
        for plan in all() {
            let restored = |call: &Planned| match call {
                Planned::Restore(project, _) => Some(*project),
                _ => None,
            };
            let Some(project) = plan.calls.iter().flatten().find_map(restored) else { continue };
            let looks = |call: &Planned| matches!(call, Planned::Take(one) | Planned::Diff(one, _) if *one == project);
            assert!(!plan.calls.iter().flatten().any(looks), "{plan:?}");
            let killed = plan.kill.map(|kill| plan.calls[kill.process].first());
            assert!(killed.flatten().is_none_or(|call| restored(call).is_none()), "{plan:?}");
        }
    }

    #[test]
    fn what_a_project_holds_is_its_own_and_changes_between_most_rounds() {
        let rounds: Vec<_> = (0..ROUNDS).map(|round| contents(1, 0, round)).collect();
        let changes = rounds.windows(2).filter(|two| two[0] != two[1]).count();
        assert!(changes >= ROUNDS / 2, "{changes}");
        assert!(rounds.iter().all(|round| round[PROJECTS[0]] != round[PROJECTS[1]]));
        assert!(rounds.iter().all(|round| round[PROJECTS[0]].len() == FILES));
    }
}

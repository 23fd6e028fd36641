//! What a subject is asked about a damaged store, in parts that do not disturb each other: before each
//! the store is damaged anew.

use super::cost::Cost;
use super::ground::{Ground, changed_elsewhere, tree_in, wrecked};
use super::harm::Damage;
use super::judge::{self, Broken, Rule, Seen, said};
use super::past::{Checkpoint, Past, Which, needs};
use super::plan::file;
use super::{DamageError, Failure};
use crate::subject::Subject;
use herma_model::answer::CheckpointOutcome;
use herma_model::{Answer, Request, Tree};
use std::collections::BTreeSet;

/// Why a part ends early.
enum Stop {
    /// The process ended: the next part has another one.
    Crash,
    /// It hangs: what else hangs would be waited for again and again.
    Hang,
    /// Nothing can be said.
    Error(DamageError),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Stop::Error(error.into())
    }
}

/// One damage, and what was asked and found.
pub struct Inquiry<'a, 'b> {
    ground: &'a mut Ground<'b>,
    past: &'a Past,
    damage: Option<&'a Damage>,
    cost: Cost,
    /// What is named by a list, and what came back, in a store that was just damaged.
    listed: BTreeSet<Which>,
    restored: BTreeSet<Which>,
    /// How many answers were judged.
    pub checked: usize,
    /// What was wrong.
    pub failures: Vec<Failure>,
}

impl<'a, 'b> Inquiry<'a, 'b> {
    /// Nothing is asked yet.
    pub fn new(
        ground: &'a mut Ground<'b>,
        past: &'a Past,
        damage: Option<&'a Damage>,
        cost: Cost,
    ) -> Self {
        let (listed, restored) = (BTreeSet::new(), BTreeSet::new());
        let (checked, failures) = (0, Vec::new());
        Inquiry { ground, past, damage, cost, listed, restored, checked, failures }
    }

    /// Asks everything; after a hang nothing more.
    ///
    /// # Errors
    /// The sandbox fails, or an adapter broke the protocol.
    pub fn ask_all(&mut self) -> Result<(), DamageError> {
        match self.all_parts() {
            Ok(()) | Err(Stop::Hang | Stop::Crash) => Ok(()),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    fn all_parts(&mut self) -> Result<(), Stop> {
        let projects = 0..self.past.projects.len();
        for project in projects.clone() {
            self.part(|inquiry, subject| inquiry.look(subject, project))?;
        }
        // The projects are as their indexes say until this.
        for project in projects {
            self.part(|inquiry, subject| inquiry.take_and_go_on(subject, project))?;
        }
        let all: Vec<Which> = self.past.checkpoints().map(|(which, _)| which).collect();
        for which in &all {
            self.part(|inquiry, subject| {
                let rule = inquiry.cost.rule(*which);
                if inquiry.restore(subject, *which, rule, "")? {
                    inquiry.restored.insert(*which);
                }
                Ok(())
            })?;
        }
        self.part(|inquiry, subject| inquiry.maintain(subject, &all))
    }

    /// A part with a store that was just damaged and a subject that was just opened.
    fn part(
        &mut self,
        ask: impl FnOnce(&mut Self, &mut dyn Subject) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.ground.reset(self.damage)?;
        let mut subject = self.ground.open();
        match ask(self, subject.as_mut()) {
            Err(Stop::Crash) => Ok(()),
            ended => ended,
        }
    }

    /// The list and every preview of a project.
    fn look(&mut self, subject: &mut dyn Subject, project: usize) -> Result<(), Stop> {
        let past = self.past;
        let answer = self.list(subject, project, "")?;
        if let Answer::Listed(listed) = &answer {
            let is_listed = |id: &str| listed.iter().any(|one| one.id == id);
            let named = past.of(project).filter(|(_, checkpoint)| is_listed(&checkpoint.id));
            self.listed.extend(named.map(|(which, _)| which));
        }
        if !self.ground.capabilities().has("diff") {
            return Ok(());
        }
        for (which, checkpoint) in past.of(project) {
            let Some(rule) = self.cost.rule(which) else { continue };
            let asked = format!("a preview of {}", past.name(which));
            let (dir, target) = (past.projects[project].dir.clone(), checkpoint.id.as_str().into());
            let answer = self.ask(subject, &Request::Diff { dir, target }, &asked)?;
            let broken = judge::diffed(rule, &checkpoint.tree, past.now(project), &answer);
            self.note(&asked, broken);
        }
        Ok(())
    }

    /// Asks for the list of a project, and holds it to what must be in it.
    fn list(
        &mut self,
        subject: &mut dyn Subject,
        project: usize,
        when: &str,
    ) -> Result<Answer, Stop> {
        let past = self.past;
        let asked = format!("the list of {}{when}", past.projects[project].name);
        let request = Request::List { dir: past.projects[project].dir.clone() };
        let answer = self.ask(subject, &request, &asked)?;
        let due: Vec<(Which, Rule)> = past
            .of(project)
            .filter_map(|(which, _)| Some((which, self.cost.rule(which)?)))
            // Later lists are asked for what the first one had.
            .filter(|(which, _)| when.is_empty() || self.listed.contains(which))
            .collect();
        for broken in judge::listed(past, due.into_iter(), &answer) {
            self.note(&asked, Some(broken));
        }
        Ok(answer)
    }

    /// A checkpoint of what the newest one holds already, another one after an edit, and what is
    /// listed then. Each must come back.
    fn take_and_go_on(&mut self, subject: &mut dyn Subject, project: usize) -> Result<(), Stop> {
        let past = self.past;
        let name = past.projects[project].name;
        // Without a checkpoint nobody knows what would be unchanged.
        if !past.projects[project].checkpoints.is_empty() {
            let asked = format!("a checkpoint of {name} as its newest one has it");
            self.take(subject, project, past.now(project), &asked)?;
        }
        let mut edited = past.now(project).clone();
        edited.insert("a.txt".into(), file(format!("{name} after the damage\n")));
        edited.insert("src/after.txt".into(), file("new\n"));
        self.ground.put(past, project, &edited)?;
        let asked = format!("a checkpoint of {name} after an edit");
        let taken = self.take(subject, project, &edited, &asked)?;
        for other in 0..past.projects.len() {
            // A take may drop the oldest of its own project.
            if other == project && past.most.is_some() {
                continue;
            }
            let when = format!(" after a checkpoint of {name}");
            let answer = self.list(subject, other, &when)?;
            let new = taken.as_ref().filter(|_| other == project);
            if let (Some(id), Answer::Listed(listed)) = (new, &answer)
                && !listed.iter().any(|one| one.id == *id)
            {
                let rule = self.cost.rule_of_take(project).unwrap_or(Rule::NotStoredAgain);
                let due = format!("the checkpoint just taken, {id}, is listed");
                let asked = format!("the list of {name}{when}");
                self.note(&asked, Some(Broken { rule, due, found: said(&answer) }));
            }
        }
        Ok(())
    }

    /// Asks for a checkpoint of what the project holds now, wrecks that and restores it; returns the
    /// id of a new one.
    fn take(
        &mut self,
        subject: &mut dyn Subject,
        project: usize,
        tree: &Tree,
        asked: &str,
    ) -> Result<Option<String>, Stop> {
        let past = self.past;
        self.ground.turn(subject);
        let answer = self.ask(subject, &self.ground.take(past, project), asked)?;
        let rule = self.cost.rule_of_take(project);
        let newest = past.projects[project].checkpoints.last();
        let known = newest.filter(|newest| newest.tree == *tree && rule.is_some());
        let (id, new) = match &answer {
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, .. } => {
                (Some(id.clone()), Some(id.clone()))
            }
            Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. } if known.is_some() => {
                (known.map(|newest| newest.id.clone()), None)
            }
            _ => {
                let broken = rule.map(|rule| {
                    let due = "a checkpoint is taken".to_owned();
                    Broken { rule, due, found: said(&answer) }
                });
                self.note(asked, broken);
                return Ok(None);
            }
        };
        if let Some(id) = id.filter(|_| !self.cost.captures_otherwise) {
            self.comes_back(subject, project, (&id, tree), asked, &said(&answer))?;
        }
        Ok(new)
    }

    /// What was said to be stored comes back.
    fn comes_back(
        &mut self,
        subject: &mut dyn Subject,
        project: usize,
        (id, tree): (&str, &Tree),
        taken: &str,
        answered: &str,
    ) -> Result<(), Stop> {
        let asked = format!("{taken}, and its restore");
        let needed = needs(&Checkpoint { id: id.to_owned(), tree: tree.clone() });
        let refused = match self.cost.lost.is_disjoint(&needed) {
            true => self.cost.rule_of_take(project).unwrap_or(Rule::NotStoredAgain),
            false => Rule::NotStoredAgain,
        };
        let broken = self.restore_of(subject, project, (id, tree), &asked, Some(refused))?;
        for mut one in broken {
            if one.rule == Rule::FalseSuccess {
                one.rule = Rule::NotStoredAgain;
            }
            one.found = format!("{}; the checkpoint: {answered}", one.found);
            self.note(&asked, Some(one));
        }
        Ok(())
    }

    /// Wrecks a project and restores a checkpoint of it; returns whether that came back.
    fn restore(
        &mut self,
        subject: &mut dyn Subject,
        which: Which,
        rule: Option<Rule>,
        when: &str,
    ) -> Result<bool, Stop> {
        let past = self.past;
        let checkpoint = &past.projects[which.project].checkpoints[which.at];
        let asked = format!("a restore of {}{when}", past.name(which));
        let what = (&checkpoint.id[..], &checkpoint.tree);
        let broken = self.restore_of(subject, which.project, what, &asked, rule)?;
        let whole = broken.is_empty();
        for one in broken {
            self.note(&asked, Some(one));
        }
        Ok(whole)
    }

    fn restore_of(
        &mut self,
        subject: &mut dyn Subject,
        project: usize,
        (id, tree): (&str, &Tree),
        asked: &str,
        rule: Option<Rule>,
    ) -> Result<Vec<Broken>, Stop> {
        let past = self.past;
        let name = past.projects[project].name;
        self.ground.put(past, project, &wrecked(tree))?;
        self.ground.turn(subject);
        let before = self.ground.look()?;
        let exact = self.ground.capabilities().has("restore.exact");
        let dir = past.projects[project].dir.clone();
        let request = Request::Restore { dir, target: id.into(), exact, force: false };
        let answer = self.ask(subject, &request, asked)?;
        let after = self.ground.look()?;
        if let Some(path) = changed_elsewhere(&before, &after, name) {
            let due = "nothing else is changed".to_owned();
            let broken =
                Broken { rule: Rule::ReachesElsewhere, due, found: format!("{path:?} is another") };
            self.note(asked, Some(broken));
        }
        let (before, after) = (tree_in(&before, name), tree_in(&after, name));
        let seen = Seen { due: tree, exact, before: &before, after: &after };
        Ok(judge::restored(rule, &seen, &answer))
    }

    /// Everything that looks after the store as a whole. What it may say is left open; what was whole
    /// before is so afterwards.
    fn maintain(&mut self, subject: &mut dyn Subject, all: &[Which]) -> Result<(), Stop> {
        let prune = Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: true };
        for request in [Request::Status, Request::Sweep, prune] {
            let needed = request.kind().capability.map(|(needed, _)| needed);
            if needed.is_none_or(|needed| self.ground.capabilities().has(needed)) {
                self.ground.turn(subject);
                self.ask(subject, &request, request.name())?;
            }
        }
        for which in all {
            let mistaken = self.cost.mistaken == Some(which.project);
            let rule = match self.cost.rule(*which).filter(|_| !mistaken) {
                None => continue,
                // Who prunes may be unable to see that anything needs it.
                Some(Rule::BehindACommit) => Rule::BehindACommit,
                Some(_) => Rule::UpkeepLoses,
            };
            if self.restored.contains(which) {
                self.restore(subject, *which, Some(rule), " after status, sweep and prune")?;
            }
        }
        Ok(())
    }

    fn ask(
        &mut self,
        subject: &mut dyn Subject,
        request: &Request,
        asked: &str,
    ) -> Result<Answer, Stop> {
        let answer = subject.ask(request);
        if let Some(fault) = subject.fault() {
            return Err(Stop::Error(DamageError::Adapter(fault.clone())));
        }
        self.checked += 1;
        let Answer::Crashed(text) = answer else { return Ok(answer) };
        // The name of the fault, with which the message begins.
        let (rule, stop) = match text.starts_with("silent:") {
            true => (Rule::Hangs, Stop::Hang),
            false => (Rule::Crashes, Stop::Crash),
        };
        self.note(asked, Some(Broken { rule, due: "an answer".into(), found: text }));
        Err(stop)
    }

    fn note(&mut self, asked: &str, broken: Option<Broken>) {
        let Some(Broken { rule, due, found }) = broken else { return };
        let (asked, book) = (asked.to_owned(), rule.in_the_book().id);
        self.failures.push(Failure { rule, book, asked, due, found });
    }
}

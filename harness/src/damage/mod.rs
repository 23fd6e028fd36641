//! The damage lane: one file of a store is damaged, and the subject is asked for everything. A damage
//! costs what needs what is damaged, and nothing more; no answer is a lie.
//!
//! For each number a [`plan`] is drawn from the seed, the subject keeps it on a [`ground`] of its own,
//! one file of the [`places`] in its store comes to one [`harm`], [`cost`] says what that may cost,
//! and an [`inquiry`] asks and [`judge`]s. A failure that shows without the damage, too, is no
//! failure of this lane. See `herma-conform damage --help`.

pub mod cost;
pub(crate) mod dice;
pub(crate) mod ground;
pub mod harm;
pub(crate) mod inquiry;
pub mod judge;
pub mod naive;
pub mod past;
pub mod places;
pub(crate) mod plan;
pub mod report;

use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::sandbox::Scratch;
use crate::sandbox::stock::Stock;
use crate::subject::{Identity, NewSubject};
use cost::Cost;
use dice::Dice;
use ground::Ground;
use harm::{Damage, Harm};
use inquiry::Inquiry;
use judge::Rule;
use naive::Naive;
use past::Past;
use places::{Kind, Place, places};
use plan::{Packing, Plan};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;

/// Without these nothing can be damaged, or nobody knows what it may cost.
const NEEDED: [&str; 2] = ["layout", "test.store"];

/// Why nothing can be said of a damage.
#[derive(Debug, thiserror::Error)]
pub enum DamageError {
    /// The sandbox cannot be used.
    #[error("the sandbox cannot be used: {0}")]
    Sandbox(#[from] io::Error),
    /// The subject did not do what comes before the damage.
    #[error("there is no past to damage: {0}")]
    NoPast(String),
    /// The adapter broke the protocol.
    #[error("the adapter broke the protocol: {0}")]
    Adapter(Fault),
}

/// A subject, and what it can be asked.
pub struct Opened<'a> {
    /// Opens it in a sandbox.
    pub open: &'a NewSubject<'a>,
    /// Who it is.
    pub subject: Identity,
    /// What it can be asked.
    pub capabilities: Capabilities,
}

impl Opened<'_> {
    /// What the subject would have to be able to for this lane, and is not.
    pub fn lacks(&self) -> Option<&'static str> {
        NEEDED.into_iter().find(|needed| !self.capabilities.has(needed))
    }

    fn projects(&self) -> usize {
        if self.capabilities.has("project.any_directory") { plan::PROJECTS.len() } else { 2 }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// What it breaks.
    pub rule: Rule,
    /// The id of the rule of the book that this comes under.
    pub book: &'static str,
    /// What was asked.
    pub asked: String,
    /// What was due.
    pub due: String,
    /// What was answered or found.
    pub found: String,
}

/// One damage, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The number that it is drawn by.
    pub number: u64,
    /// What was damaged.
    pub kind: Kind,
    /// Which file, by what it is for.
    pub file: String,
    /// How.
    pub harm: Harm,
    /// How many answers were judged.
    pub checked: usize,
    /// What was wrong.
    pub failures: Vec<Failure>,
    /// How many failures showed without the damage, too.
    pub without_damage: usize,
}

/// Draws the damage of that number, does it, and asks.
///
/// # Errors
/// Nothing can be said of it.
pub fn run(
    opened: &Opened<'_>,
    seed: u64,
    number: u64,
    scratch: &Scratch,
) -> Result<Outcome, DamageError> {
    let draw = |places: &[Place]| Damage::draw(&mut Dice::new(seed, number, "damage"), places);
    run_chosen(opened, seed, number, scratch, draw)
}

/// The same with the past of that number and a damage of the caller's choice.
///
/// # Errors
/// As [`run`].
pub fn run_chosen(
    opened: &Opened<'_>,
    seed: u64,
    number: u64,
    scratch: &Scratch,
    choose: impl FnOnce(&[Place]) -> Option<Damage>,
) -> Result<Outcome, DamageError> {
    let plan = Plan::draw(seed, number, opened.projects());
    let (mut ground, past) = Ground::new(&plan, opened, scratch)?;
    let none = || DamageError::NoPast("the store has no such file to be damaged".into());
    let damage = choose(&places(&ground.store(), &past)?).ok_or_else(none)?;
    let mut outcome = inquire(&mut ground, &past, number, &damage)?;
    drop(ground);
    if !outcome.failures.is_empty() {
        let anyway = without_damage(&plan, opened, scratch)?;
        let before = outcome.failures.len();
        outcome.failures.retain(|failure| !anyway.contains(&failure.asked));
        outcome.without_damage = before - outcome.failures.len();
    }
    Ok(outcome)
}

/// Asks everything about one damage.
fn inquire(
    ground: &mut Ground<'_>,
    past: &Past,
    number: u64,
    damage: &Damage,
) -> Result<Outcome, DamageError> {
    let stock = Stock::of(&ground.store())?;
    let cost = Cost::of(damage, past, &stock, &ground.store());
    let mut inquiry = Inquiry::new(ground, past, Some(damage), cost);
    inquiry.ask_all()?;
    Ok(Outcome {
        number,
        kind: damage.place.kind,
        file: damage.place.name.clone(),
        harm: damage.harm,
        checked: inquiry.checked,
        failures: inquiry.failures,
        without_damage: 0,
    })
}

/// Which questions are answered wrongly without any damage.
fn without_damage(
    plan: &Plan,
    opened: &Opened<'_>,
    scratch: &Scratch,
) -> Result<BTreeSet<String>, DamageError> {
    let (mut ground, past) = Ground::new(plan, opened, scratch)?;
    let mut inquiry = Inquiry::new(&mut ground, &past, None, Cost::default());
    inquiry.ask_all()?;
    Ok(inquiry.failures.into_iter().map(|failure| failure.asked).collect())
}

/// What is held against a store that is plain git and nothing more: a file of the newest checkpoint is
/// emptied where it is stored, and git takes it for stored.
///
/// # Errors
/// As [`run`].
pub fn canary(scratch: &Scratch) -> Result<BTreeSet<Rule>, DamageError> {
    let (subject, capabilities) = (Identity::new("naive", ""), Naive::able_to());
    let opened = Opened { open: &Naive::boxed, subject, capabilities };
    let unpacked =
        |number: &u64| Plan::draw(0, *number, opened.projects()).packing == Packing::Never;
    let number = (0..).find(unpacked).unwrap_or_default();
    let outcome = run_chosen(&opened, 0, number, scratch, |places| {
        let is_step = |place: &&Place| place.kind == Kind::Blob && place.name.ends_with(plan::STEP);
        // The names of checkpoints end in their numbers.
        let latest = places.iter().filter(is_step).max_by(|one, other| one.name.cmp(&other.name));
        Some(Damage { place: latest?.clone(), harm: Harm::Emptied, spot: 0, other: None })
    })?;
    Ok(outcome.failures.into_iter().map(|failure| failure.rule).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::CoreSubject;

    /// What is damaged in the core by the first numbers.
    fn drawn() -> Vec<(Kind, String, Harm, u64)> {
        let (scratch, open) = (Scratch::default_place(), CoreSubject::boxed);
        let (subject, capabilities) = (Identity::default(), Capabilities::complete());
        let opened = Opened { open: &open, subject, capabilities };
        let draw = |number| {
            let plan = Plan::draw(3, number, opened.projects());
            let (ground, past) = Ground::new(&plan, &opened, &scratch).unwrap();
            let places = places(&ground.store(), &past).unwrap();
            let damage = Damage::draw(&mut Dice::new(3, number, "damage"), &places).unwrap();
            (damage.place.kind, damage.place.name, damage.harm, damage.spot)
        };
        (0..6).map(draw).collect()
    }

    #[test]
    fn a_number_means_the_same_damage_each_time() {
        assert_eq!(drawn(), drawn());
    }
}

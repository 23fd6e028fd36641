//! Which levels a report earns, and what it lacks for the others.

use super::{ConformanceReport, LevelLists, LevelRules};
use crate::suite::Verdict;
use herma_model::rules::Tier;
use std::fmt;

/// How many rules have each verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All rules of the list.
    pub rules: usize,
    /// Those that held.
    pub held: usize,
    /// Those that are broken.
    pub broken: usize,
    /// Those with a failure that was not reproduced.
    pub unstable: usize,
    /// Those that were not exercised, or have no verdict.
    pub not_exercised: usize,
    /// Those that cannot be judged.
    pub not_applicable: usize,
}

/// One level of one report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The level.
    pub tier: Tier,
    /// The rules that decide.
    pub must: Count,
    /// The rules that are only counted.
    pub should: Count,
    /// Why the level is not earned.
    pub lacks: Vec<String>,
}

impl Tally {
    /// Whether the level is earned.
    pub fn is_earned(&self) -> bool {
        self.lacks.is_empty()
    }
}

/// How each level of these lists is counted for a report.
pub fn tallies(report: &ConformanceReport, lists: &LevelLists) -> Vec<Tally> {
    let of_tier = |tier: Tier| Some(tally(report, lists, tier, lists.levels.get(tier.word())?));
    Tier::ALL.into_iter().filter_map(of_tier).collect()
}

fn tally(report: &ConformanceReport, lists: &LevelLists, tier: Tier, level: &LevelRules) -> Tally {
    let must = Count::of(report, &level.must);
    let should = Count::of(report, &level.should);
    let listed = |word: &str, verdict: Option<Verdict>| {
        let rules = level.must.iter().filter(|id| report.verdict(id) == verdict);
        let rules: Vec<&str> = rules.map(String::as_str).collect();
        (!rules.is_empty()).then(|| format!("{word}: {}", rules.join(", ")))
    };
    let too_few = (must.held < level.floor)
        .then(|| format!("{} MUST rules held, and at least {} must", must.held, level.floor));
    let lacks = too_little(report, lists)
        .into_iter()
        .chain(listed("broken", Some(Verdict::Broken)))
        .chain(listed("unstable", Some(Verdict::Unstable)))
        .chain(listed("not exercised", Some(Verdict::NotExercised)))
        .chain(listed("without a verdict", None))
        .chain(too_few)
        .collect();
    Tally { tier, must, should, lacks }
}

/// Why the runs are not enough for any level.
fn too_little(report: &ConformanceReport, lists: &LevelLists) -> Option<String> {
    let long = report.runs.iter().filter(|run| run.operations >= lists.operations);
    let generated: u64 = long.map(|run| run.generated().saturating_sub(run.not_run)).sum();
    (generated < lists.histories).then(|| {
        format!(
            "{generated} histories of up to {} operations or more were generated, and at least {} must be",
            lists.operations, lists.histories
        )
    })
}

impl Count {
    fn of(report: &ConformanceReport, rules: &[String]) -> Count {
        let mut count = Count { rules: rules.len(), ..Count::default() };
        for rule in rules {
            *match report.verdict(rule) {
                Some(Verdict::Held) => &mut count.held,
                Some(Verdict::Broken) => &mut count.broken,
                Some(Verdict::Unstable) => &mut count.unstable,
                Some(Verdict::NotApplicable) => &mut count.not_applicable,
                Some(Verdict::NotExercised) | None => &mut count.not_exercised,
            } += 1;
        }
        count
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {} held", self.held, self.rules)?;
        for (number, word) in [
            (self.broken, "broken"),
            (self.unstable, "unstable"),
            (self.not_exercised, "not exercised"),
            (self.not_applicable, "not applicable"),
        ] {
            if number > 0 {
                write!(formatter, ", {number} {word}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let earned = if self.is_earned() { "earned" } else { "not earned" };
        writeln!(formatter, "{:<11} {earned}", self.tier.word())?;
        writeln!(formatter, "  MUST    {}", self.must)?;
        if self.should.rules > 0 {
            writeln!(formatter, "  SHOULD  {}", self.should)?;
        }
        self.lacks.iter().try_for_each(|reason| writeln!(formatter, "  {reason}"))
    }
}

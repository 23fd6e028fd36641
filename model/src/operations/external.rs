//! What the agent did outside: whether a restore says so and leaves it alone, and which compensations
//! run.

use crate::agent::Action;
use crate::answer::{Compensated, Restored};
use crate::observation::Observation;
use crate::plain::plain;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::{Deed, World};
use std::collections::BTreeSet;

/// The rule that is broken by a change of a file that compensations write, where none was asked for.
pub(super) fn rule_of_log(seen: &Observation) -> RuleRef {
    match seen.request.restores() {
        true => &rules::AGENT_EXTERNAL_LISTED,
        false => &rules::AGENT_COMPENSATION,
    }
}

impl World {
    /// The external actions that a restore must name. One of a single file says nothing of what the
    /// agent did outside.
    pub(crate) fn must_be_named(&self, request: &Request) -> BTreeSet<Action> {
        let is_whole = !matches!(request, Request::RestoreFile { .. });
        let since = self.meant(request).and_then(|one| one.carried.actions);
        let deeds = since.filter(|_| is_whole).map(|since| &self.agent.deeds[since..]);
        let undecided = deeds.into_iter().flatten().filter(|deed| deed.is_undecided());
        undecided.map(|deed| deed.action.clone()).collect()
    }
}

/// Compares the external actions that a restore names with those since its checkpoint.
///
/// Implements [`rules::AGENT_EXTERNAL_LISTED`].
pub(super) fn compare_listed(
    world: &World,
    found: &Restored,
    seen: &Observation,
    checks: &mut Checks,
) {
    let rule = &rules::AGENT_EXTERNAL_LISTED;
    let since = world.meant(&seen.request).and_then(|one| one.carried.actions);
    let Some(since) = since.filter(|_| world.has("external")) else { return };
    let named: BTreeSet<&Action> = found.external.iter().flatten().collect();
    let must = world.must_be_named(&seen.request);
    let deeds = &world.agent.deeds;
    let pending = deeds.iter().take(since).filter(|deed| deed.may_be_pending());
    let may = deeds.iter().skip(since).chain(pending);
    let may: BTreeSet<&Action> = may.map(|deed| &deed.action).collect();
    let missing: Vec<&Action> = must.iter().filter(|one| !named.contains(one)).collect();
    checks.check(Judge::Answer, rule, missing.is_empty(), || {
        let due = format!("named: {must}", must = plain(&must));
        Mismatch::new("not named", due, format!("not named: {}", plain(&missing)))
    });
    let beside: Vec<&&Action> = named.iter().filter(|one| !may.contains(*one)).collect();
    checks.check(Judge::Answer, rule, beside.is_empty(), || {
        let due = format!("none but {may}", may = plain(&may));
        Mismatch::new("named beside", due, plain(&beside)).kind(Kind::Dishonest)
    });
}

/// Compares which compensations ran, and what is said of them, with which may and must.
///
/// Implements [`rules::AGENT_COMPENSATION`].
pub(super) fn compare_run(
    world: &World,
    said: &Compensated,
    seen: &Observation,
    checks: &mut Checks,
) {
    let rule = &rules::AGENT_COMPENSATION;
    let mut ran: Vec<(usize, &Deed)> = Vec::new();
    for log in world.logs() {
        let Some(lines) = world.appended(&log, seen) else { continue };
        let own = |line: &String| {
            let is_it = |deed: &Deed| {
                deed.action.line() == *line
                    && deed.compensation.as_ref().is_some_and(|one| one.log == log)
            };
            let deeds = world.agent.deeds.iter().enumerate();
            deeds.filter(|(_, deed)| is_it(deed)).collect::<Vec<_>>()
        };
        let known = |line: &String| !own(line).is_empty();
        checks.check(Judge::Disk, rule, lines.iter().all(known), || {
            Mismatch::new("another line", "a line for each action", plain(&lines))
        });
        let texts: BTreeSet<String> =
            world.agent.deeds.iter().filter_map(|deed| line_in(deed, &log)).collect();
        for text in texts {
            let times = lines.iter().filter(|line| **line == text).count();
            let all = own(&text);
            let must = all.iter().filter(|(_, deed)| deed.runs().0).count();
            let may = all.iter().filter(|(_, deed)| deed.runs().1).count();
            let symptom = if times > may { "run once too often" } else { "not run" };
            checks.check(Judge::Disk, rule, (must..=may).contains(&times), || {
                let due = format!("`{text}` {must} to {may} times");
                Mismatch::new(symptom, due, format!("{times} times"))
            });
        }
        let of_line =
            |line: &String| own(line).into_iter().filter(|(_, deed)| deed.runs().1).collect();
        let each: Vec<Vec<(usize, &Deed)>> = lines.iter().map(of_line).collect();
        let alone = each.iter().filter(|all| all.len() == 1).flatten();
        let order: Vec<usize> = alone.clone().map(|(at, _)| *at).collect();
        checks.check(Judge::Disk, rule, order.iter().rev().is_sorted(), || {
            Mismatch::new("another order", "the newest first", plain(&lines))
        });
        ran.extend(alone);
    }
    compare_said(said, &ran, checks);
}

fn line_in(deed: &Deed, log: &crate::bytes::ByteString) -> Option<String> {
    let is_there = deed.compensation.as_ref().is_some_and(|one| one.log == *log);
    is_there.then(|| deed.action.line())
}

/// What ran is said to have, and whether it failed.
fn compare_said(said: &Compensated, ran: &[(usize, &Deed)], checks: &mut Checks) {
    let rule = &rules::AGENT_COMPENSATION;
    for (_, deed) in ran {
        let fails = deed.compensation.as_ref().is_some_and(|one| one.fails);
        let right = if fails { &said.failed } else { &said.compensated };
        checks.check(Judge::Answer, rule, right.contains(&deed.action), || {
            let word = if fails { "failed" } else { "compensated" };
            Mismatch::new("unsaid", format!("{word}: {}", plain(&deed.action)), plain(said))
                .kind(Kind::Dishonest)
        });
    }
}

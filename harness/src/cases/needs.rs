//! The fewest capabilities with which a case still does what it is there for: the core passes it,
//! it has what its rules are about, and every planted bug that it names is found (where it names
//! none, its rules are judged).
//!
//! A subject that lacks one is asked the closest thing that it can do instead, as in any history;
//! so a case need not be about what it happens to use. Where the store cannot be read, a bug of
//! capture shows in what a restore brings back: found all the same, by the rule that shows it.

use super::Case;
use super::check::run_bug;
use crate::inject::{Injected, Point};
use crate::planted;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{RunError, run};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{CoreSubject, Identity, NewSubject, Subject};
use herma_model::observation::Measured;
use herma_model::{Answer, Request, Settings};
use std::io;

/// Of two ways to see the same, the one that fewer stores offer is given up first: a look into the
/// store before what a restore says, and that before what it brings back; and a manual checkpoint,
/// which nearly all offer, last.
const FIRST: [&str; 2] = [STORE, "restore.report"];
/// Reading the store is one way to judge a rule of what a store does, never the only one.
const STORE: &str = "layout";
const LAST: &str = "checkpoint";

/// The capabilities that a case needs, sorted.
///
/// # Errors
/// A run that could not be made.
pub fn needs(case: &Case, scratch: &Scratch) -> Result<Vec<String>, RunError> {
    let mut needed = Capabilities::default();
    loop {
        let mut claims: Vec<&'static str> = needed.names().collect();
        claims.sort_by_key(|claim| {
            (*claim == LAST, FIRST.iter().position(|first| first == claim).unwrap_or(FIRST.len()))
        });
        let fewer = without_all(case, &needed, &claims, scratch)?;
        if fewer == needed {
            return Ok(needed.names().map(str::to_owned).collect());
        }
        needed = fewer;
    }
}

/// The capabilities without as many of these as the case can do without.
fn without_all(
    case: &Case,
    needed: &Capabilities,
    claims: &[&'static str],
    scratch: &Scratch,
) -> Result<Capabilities, RunError> {
    let without = claims.iter().fold(needed.clone(), |left, claim| left.without(claim));
    if claims.is_empty() || does_its_work(case, &without, scratch)? {
        return Ok(without);
    }
    if claims.len() == 1 {
        return Ok(needed.clone());
    }
    let (some, others) = claims.split_at(claims.len() / 2);
    let needed = without_all(case, needed, some, scratch)?;
    without_all(case, &needed, others, scratch)
}

/// What is wrong with what a case says it needs. Of a case that does not do its work even with
/// every capability, nothing is said here.
///
/// # Errors
/// A run that could not be made.
pub fn fault(case: &Case, scratch: &Scratch) -> Result<Option<String>, RunError> {
    let said = |name: &&'static str| case.needs.iter().any(|need| need == name);
    let known = |need: &String| Capabilities::default().names().any(|name| name == need);
    let exactly = Capabilities::default();
    let exactly = exactly
        .names()
        .filter(|name| !said(name))
        .fold(exactly.clone(), |left, claim| left.without(claim));
    let mut is_exact = case.needs.iter().all(known) && does_its_work(case, &exactly, scratch)?;
    for need in &case.needs {
        is_exact = is_exact && !does_its_work(case, &exactly.without(need), scratch)?;
    }
    if is_exact || !does_its_work(case, &Capabilities::default(), scratch)? {
        return Ok(None);
    }
    let needs = needs(case, scratch)?;
    Ok(Some(format!("it needs {}, and says {}", list(&needs), list(&case.needs))))
}

fn list(needs: &[String]) -> String {
    if needs.is_empty() { "nothing".into() } else { needs.join(", ") }
}

/// Whether subjects with these capabilities alone are judged by a case as it means to.
fn does_its_work(
    case: &Case,
    capabilities: &Capabilities,
    scratch: &Scratch,
) -> Result<bool, RunError> {
    let is_about = |need: &&str| *need == STORE || capabilities.has(need);
    if !case.rules().all(|rule| rule.needs.iter().all(is_about)) {
        return Ok(false);
    }
    let limited = |open: &NewSubject<'_>, sandbox: &Sandbox, settings: &Settings, seconds| {
        let subject = open(sandbox, &capabilities.restrict_settings(settings), seconds);
        Box::new(Limited { subject, limit: capabilities.clone() }) as Box<dyn Subject>
    };
    let core = |sandbox: &Sandbox, settings: &Settings, seconds| {
        limited(&CoreSubject::boxed, sandbox, settings, seconds)
    };
    let held = run(&case.history(), &core, scratch)?;
    let judged = |rule: &String| held.checks.get(rule.as_str()).is_some_and(|checks| *checks > 0);
    let unseen = case.kills.is_empty() && !case.rules.iter().all(judged);
    if !held.divergences.is_empty() || unseen {
        return Ok(false);
    }
    for bug in case.kills.iter().filter_map(|name| planted::find(name)) {
        let opener = bug.opener();
        let broken = |sandbox: &Sandbox, settings: &Settings, seconds| {
            limited(&opener, sandbox, settings, seconds)
        };
        if run_bug(&broken, &case.history(), scratch)?.divergences.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A subject that says it can do no more than some things.
struct Limited {
    subject: Box<dyn Subject>,
    limit: Capabilities,
}

impl Subject for Limited {
    fn ask(&mut self, request: &Request) -> Answer {
        self.subject.ask(request)
    }

    fn ask_injected(&mut self, request: &Request, point: &Point) -> io::Result<Option<Injected>> {
        self.subject.ask_injected(request, point)
    }

    fn ask_measured(&mut self, request: &Request) -> (Answer, Option<Measured>) {
        self.subject.ask_measured(request)
    }

    fn identity(&self) -> Identity {
        self.subject.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.subject.capabilities().in_common(&self.limit)
    }
}

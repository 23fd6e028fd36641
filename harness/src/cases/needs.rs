//! Finds the fewest capabilities with which a case still works. A case works with some capabilities if all
//! of these hold:
//!
//! - the core passes it
//! - they include the capabilities that its rules need
//! - every planted bug that it names is found, or, if it names none, its rules are judged
//!
//! A case does not need every capability that its requests use: a subject that lacks a capability gets the
//! closest request that it supports, as in any history. Nor does the store always have to be readable: if
//! it is not, a bug of capture shows in the restored files, and the rule about these finds it.

use super::Case;
use super::check::run_bug;
use crate::inject::{Injected, Point};
use crate::planted;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{RunError, RunOptions, run};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{CoreSubject, Identity, NewSubject, Subject};
use herma_model::observation::Measured;
use herma_model::{Answer, Request, Settings};
use std::io;

/// If two capabilities show the same, the one that fewer stores have is given up first: reading the store
/// before the report of a restore, and the report before the restored files. Manual checkpoints, which nearly
/// all stores have, are given up last.
const FIRST: [&str; 2] = [STORE, "restore.report"];
/// Reading the store is one way to judge a rule about stores, but never the only one.
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

/// The needed capabilities without as many of `claims` as the case can do without.
fn without_all(
    case: &Case,
    needed: &Capabilities,
    claims: &[&'static str],
    scratch: &Scratch,
) -> Result<Capabilities, RunError> {
    let remaining =
        claims.iter().fold(needed.clone(), |capabilities, claim| capabilities.without(claim));
    if claims.is_empty() || works(case, &remaining, scratch)? {
        return Ok(remaining);
    }
    if claims.len() == 1 {
        return Ok(needed.clone());
    }
    let (first_half, second_half) = claims.split_at(claims.len() / 2);
    let needed = without_all(case, needed, first_half, scratch)?;
    without_all(case, &needed, second_half, scratch)
}

/// The fault in the capabilities that a case lists. A case that does not work even with every capability has
/// no fault here.
///
/// # Errors
/// A run that could not be made.
pub fn fault(case: &Case, scratch: &Scratch) -> Result<Option<String>, RunError> {
    let is_listed = |name: &&'static str| case.needs.iter().any(|need| need == name);
    let exists = |need: &String| Capabilities::default().names().any(|name| name == need);
    let listed = Capabilities::default();
    let listed = listed
        .names()
        .filter(|name| !is_listed(name))
        .fold(listed.clone(), |capabilities, claim| capabilities.without(claim));
    let mut is_exact = case.needs.iter().all(exists) && works(case, &listed, scratch)?;
    for need in &case.needs {
        is_exact = is_exact && !works(case, &listed.without(need), scratch)?;
    }
    if is_exact || !works(case, &Capabilities::default(), scratch)? {
        return Ok(None);
    }
    let needs = needs(case, scratch)?;
    Ok(Some(format!("it needs {}, and says {}", list(&needs), list(&case.needs))))
}

fn list(needs: &[String]) -> String {
    if needs.is_empty() { "nothing".into() } else { needs.join(", ") }
}

/// Whether a case works for subjects with exactly these capabilities.
fn works(case: &Case, capabilities: &Capabilities, scratch: &Scratch) -> Result<bool, RunError> {
    let is_available = |need: &&str| *need == STORE || capabilities.has(need);
    if !case.rules().all(|rule| rule.needs.iter().all(is_available)) {
        return Ok(false);
    }
    let limited = |open: &NewSubject<'_>, sandbox: &Sandbox, settings: &Settings, seconds| {
        let subject = open(sandbox, &capabilities.restrict_settings(settings), seconds);
        Box::new(Limited { subject, limit: capabilities.clone() }) as Box<dyn Subject>
    };
    let core = |sandbox: &Sandbox, settings: &Settings, seconds| {
        limited(&CoreSubject::boxed, sandbox, settings, seconds)
    };
    let run_of_core = run(&case.history(), &core, scratch, RunOptions::default())?;
    let is_judged =
        |rule: &String| run_of_core.checks.get(rule.as_str()).is_some_and(|checks| *checks > 0);
    let is_unjudged = case.kills.is_empty() && !case.rules.iter().all(is_judged);
    if !run_of_core.divergences.is_empty() || is_unjudged {
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

/// A subject that claims no more than some capabilities.
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

//! What is said of the store as a whole.

use super::sweep::Evidence;
use crate::allowed::AllowedStatus;
use crate::answer::{ProjectState, ProjectStatus};
use crate::bytes::ByteString;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

impl World {
    /// Implements [`rules::MAINTENANCE_COMMANDS`].
    pub(super) fn allows_status(&self) -> AllowedStatus {
        let mut projects = BTreeMap::new();
        for project in self.histories().map(|(project, _)| project) {
            let states = match self.evidence(project) {
                Evidence::There => vec![ProjectState::Live],
                Evidence::Gone => vec![ProjectState::Orphan],
                Evidence::None => vec![ProjectState::Orphan, ProjectState::Unknown],
                Evidence::Doubtful => {
                    vec![ProjectState::Live, ProjectState::Orphan, ProjectState::Unknown]
                }
            };
            let count = self.listed(project).len();
            projects.insert(self.absolute(project), (count, states));
        }
        let (damaged, healed) = (self.damaged().iter(), self.healed().iter());
        AllowedStatus {
            projects,
            // Of these any number of checkpoints may be counted, too.
            nameless: damaged
                .chain(
                    self.histories()
                        .map(|(project, _)| project)
                        .filter(|one| self.is_disturbed(one)),
                )
                .map(|project| self.absolute(project))
                .collect(),
            healed: healed.map(|project| self.absolute(project)).collect(),
            archives: self.archives().keys().cloned().collect(),
            lookalikes: self.lookalikes().clone(),
        }
    }
}

/// Compares what was said of the store with what is right.
///
/// Implements [`rules::MAINTENANCE_HEALS`].
pub(super) fn compare(
    due: &AllowedStatus,
    projects: &[ProjectStatus],
    archives: &[String],
    checks: &mut Checks,
) {
    let rule: RuleRef = &rules::MAINTENANCE_COMMANDS;
    let found = || plain(&projects);
    for (workdir, (count, states)) in &due.projects {
        if due.nameless.contains(workdir) {
            continue;
        }
        let named: Vec<&ProjectStatus> =
            projects.iter().filter(|one| one.workdir.as_ref() == Some(workdir)).collect();
        let holds = matches!(named[..], [one]
            if one.checkpoints == Some(*count) && states.contains(&one.state));
        let unnamed = named.is_empty() && due.healed.contains(workdir);
        let rule: RuleRef = if unnamed { &rules::MAINTENANCE_HEALS } else { rule };
        checks.check(Judge::Answer, rule, holds, || {
            let due = format!(
                "{workdir} once, with {count} checkpoints, {states}",
                states = plain(&states)
            );
            Mismatch::new("another status", due, found())
        });
    }
    let phantom = projects.iter().find(|one| {
        let known = |workdir: &ByteString| due.projects.contains_key(workdir);
        one.checkpoints.is_some_and(|count| count > 0)
            && one.workdir.as_ref().is_some_and(|workdir| !known(workdir))
    });
    checks.check(Judge::Answer, rule, phantom.is_none(), || {
        Mismatch::new("a project of nothing", "only projects with checkpoints", found())
    });
    let said = archives.iter().filter(|name| !due.lookalikes.contains(*name)).cloned();
    let said: BTreeSet<String> = said.collect();
    checks.same(Judge::Answer, rule, "archives", &due.archives, &said);
}

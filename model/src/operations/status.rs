//! The status of the store.

use super::sweep::Evidence;
use crate::allowed::AllowedStatus;
use crate::answer::{ProjectState, ProjectStatus};
use crate::bytes::ByteString;
use crate::excuse::Excuse;
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};

impl World {
    /// Implements [`rules::MAINTENANCE_COMMANDS`] (decides).
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
        let damaged = self.damaged().iter();
        let healed = self.healed().iter();
        AllowedStatus {
            projects,
            // The number of checkpoints of these is not judged, either.
            nameless: damaged
                .chain(
                    self.histories()
                        .map(|(project, _)| project)
                        .filter(|project| self.is_partially_corrupted(project)),
                )
                .map(|project| self.absolute(project))
                .collect(),
            healed: healed.map(|project| self.absolute(project)).collect(),
            archives: self.archives().keys().cloned().collect(),
            lookalikes: self.lookalikes().clone(),
        }
    }
}

/// Compares the reported status of the store with the correct one.
///
/// Implements [`rules::MAINTENANCE_HEALS`].
pub(super) fn compare(
    allowed: &AllowedStatus,
    projects: &[ProjectStatus],
    archives: &[String],
    checks: &mut Checks,
) {
    let rule: RuleRef = &rules::MAINTENANCE_COMMANDS;
    let found = || plain(&projects);
    for (workdir, (count, states)) in &allowed.projects {
        if allowed.nameless.contains(workdir) {
            checks.excused(rule, Excuse::Damage, 1);
            continue;
        }
        let named: Vec<&ProjectStatus> =
            projects.iter().filter(|status| status.workdir.as_ref() == Some(workdir)).collect();
        let holds = matches!(named[..], [status]
            if status.checkpoints == Some(*count) && states.contains(&status.state));
        let unnamed = named.is_empty() && allowed.healed.contains(workdir);
        let rule: RuleRef = if unnamed { &rules::MAINTENANCE_HEALS } else { rule };
        checks.check(Judge::Answer, rule, holds, || {
            let expected = format!(
                "{workdir} once, with {count} checkpoints, {states}",
                states = plain(&states)
            );
            Mismatch::new("another status", expected, found())
        });
    }
    let phantom = projects.iter().find(|status| {
        let is_known = |workdir: &ByteString| allowed.projects.contains_key(workdir);
        status.checkpoints.is_some_and(|count| count > 0)
            && status.workdir.as_ref().is_some_and(|workdir| !is_known(workdir))
    });
    checks.check(Judge::Answer, rule, phantom.is_none(), || {
        Mismatch::new("a project of nothing", "only projects with checkpoints", found())
    });
    let reported = archives.iter().filter(|name| !allowed.lookalikes.contains(*name)).cloned();
    let reported: BTreeSet<String> = reported.collect();
    checks.same(Judge::Answer, rule, "archives", &allowed.archives, &reported);
}

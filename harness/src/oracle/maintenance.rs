//! What came of a request about the store as a whole: what was said of it against what the model
//! allows, and against what plain git and the disk show.

use super::plain_git::{Git, StoreContents};
use super::total::{self, Sizes};
use super::{Checks, Judge, Mismatch, base};
use crate::history::concrete::hash;
use crate::sandbox::Sandbox;
use herma_model::answer::{Counts, ProjectStatus, SweepOutcome};
use herma_model::expected::{Cleared, Disposition, ExpectedStatus, ExpectedSweep};
use herma_model::rules::{self, RuleRef};
use herma_model::{ByteString, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What a sweep removed, by what it may have been.
#[derive(Default)]
struct Removed {
    /// Projects and repositories.
    all: usize,
    /// Those that can only have been orphans.
    orphans_min: usize,
    /// Those that may have been.
    orphans_max: usize,
    archives: usize,
}

impl Removed {
    fn add(&mut self, disposition: &Disposition) {
        self.all += 1;
        self.orphans_min += usize::from(!disposition.may_be_stale);
        self.orphans_max += usize::from(disposition.may_be_orphan);
    }
}

/// Judges a sweep or a prune, and teaches the world what is left.
///
/// # Errors
/// The store cannot be looked at.
pub fn judge_sweep(
    world: &mut World,
    sweep: &ExpectedSweep,
    (outcome, counts): (SweepOutcome, &Counts),
    sizes: &mut Sizes,
    (sandbox, git): (&Sandbox, &mut Git),
    checks: &mut Checks,
) -> io::Result<()> {
    let done = outcome == SweepOutcome::Done;
    let allowed = if done { sweep.may_run } else { sweep.may_decline };
    let rule: RuleRef =
        if sweep.manual { &rules::MAINTENANCE_COMMANDS } else { &rules::SWEEP_INTERVAL };
    checks.check(Judge::Answer, rule, allowed, || {
        let symptom = if done { "swept too early" } else { "not swept" };
        let due = format!("may be made: {}, declined: {}", sweep.may_run, sweep.may_decline);
        Mismatch::new(symptom, due, format!("{outcome:?}"))
    });
    if !done || !allowed {
        return Ok(());
    }
    if !sweep.manual {
        world.learn_swept();
    }
    let errors = counts.errors == 0;
    checks.check(Judge::Answer, &rules::MAINTENANCE_NEVER_RAISES, errors, || {
        Mismatch::new("errors", "no errors, since nothing stood in the way", format!("{counts:?}"))
    });
    let there = sandbox.has_store();
    let held = if there { git.held()? } else { StoreContents::default() };
    // What is noted of a project may be all that leads a sweep to it.
    let hidden = sweep.projects.keys().filter(|path| world.damaged().contains(*path)).count();
    let judged = sweep.projects.len() + sweep.repositories.len() - hidden;
    let mut removed = Removed::default();
    judge_projects(world, sweep, (&held.visible, counts), sandbox, &mut removed, checks);
    judge_v1(world, sweep, sandbox, &mut removed, checks)?;
    judge_counts(judged, &removed, counts, checks);
    if !there || checks.failed_here() {
        return Ok(());
    }
    if sweep.max_total_bytes > 0 {
        checks.new_part();
        total::judge(world, sweep.max_total_bytes, sizes, &held, checks);
    }
    checks.new_part();
    let unreachable = git.unreachable(&held)?;
    checks.check(Judge::Git, &rules::SWEEP_RECLAIMS, unreachable.is_empty(), || {
        Mismatch::new(
            "garbage stays",
            "nothing that no checkpoint needs",
            format!("{unreachable:?}"),
        )
    });
    Ok(())
}

/// Compares whether something is there with its disposition; answers whether it is rightly gone.
fn judge_disposition(
    what: &str,
    disposition: &Disposition,
    stands: bool,
    checks: &mut Checks,
) -> bool {
    let allowed = if stands { disposition.may_stay } else { disposition.may_go() };
    checks.check(Judge::Disk, disposition.rule, allowed, || {
        let symptom = if stands { "not swept away" } else { "swept away" };
        let due =
            format!("{what}: may stay {}, may go {}", disposition.may_stay, disposition.may_go());
        Mismatch::new(symptom, due, if stands { "it is there" } else { "it is gone" })
    });
    allowed && !stands
}

fn judge_projects(
    world: &mut World,
    sweep: &ExpectedSweep,
    (visible, counts): (&BTreeMap<String, Vec<String>>, &Counts),
    sandbox: &Sandbox,
    removed: &mut Removed,
    checks: &mut Checks,
) {
    for (project, disposition) in &sweep.projects {
        let name = hash(world, project);
        let stands = visible.contains_key(&name);
        // Where nothing was counted as an orphan, its age is why it went.
        let for_its_age = !stands && counts.orphans == 0 && counts.stale > 0;
        let rule: RuleRef = if for_its_age { &rules::SWEEP_STALE } else { disposition.rule };
        if !judge_disposition(
            &project.to_string(),
            &Disposition { rule, ..*disposition },
            stands,
            checks,
        ) {
            continue;
        }
        let traces = base::traces(sandbox, &name);
        checks.check(Judge::Disk, disposition.rule, traces.is_empty(), || {
            Mismatch::new("traces stay", format!("nothing of {project}"), format!("{traces:?}"))
        });
        removed.add(disposition);
        world.learn_gone(project);
    }
}

fn judge_v1(
    world: &mut World,
    sweep: &ExpectedSweep,
    sandbox: &Sandbox,
    removed: &mut Removed,
    checks: &mut Checks,
) -> io::Result<()> {
    for (name, disposition) in &sweep.repositories {
        let stands = sandbox.base().join(name).join("HEAD").exists();
        // Instead of judging it, a sweep may put it where such things go.
        let moved = base::archives(sandbox)?
            .into_iter()
            .find(|archive| sandbox.base().join(archive).join(name).exists());
        match moved {
            Some(archive) if !stands => world.learn_archived(name, &archive),
            _ if judge_disposition(name, disposition, stands, checks) => {
                removed.add(disposition);
                world.learn_repository_gone(name);
            }
            _ => {}
        }
    }
    for (name, disposition) in &sweep.archives {
        if judge_disposition(name, disposition, sandbox.base().join(name).exists(), checks) {
            removed.archives += 1;
            world.learn_archive_gone(name);
        }
    }
    Ok(())
}

fn judge_counts(judged: usize, removed: &Removed, counts: &Counts, checks: &mut Checks) {
    let orphans = (removed.orphans_min..=removed.orphans_max).contains(&counts.orphans);
    let both = counts.orphans + counts.stale;
    // Archives may count among what is stale, or by themselves.
    let together = (removed.all..=removed.all + removed.archives).contains(&both);
    let freed = removed.all == 0 || counts.bytes_freed > 0;
    let holds = counts.scanned >= judged && together && freed;
    // Where all were counted, and not as what they are, they were judged as something else.
    let rule: RuleRef = if holds { &rules::SWEEP_ORPHANS } else { &rules::SWEEP_COUNTS };
    checks.held(&rules::SWEEP_COUNTS, u64::from(holds));
    checks.check(Judge::Answer, rule, holds && orphans, || {
        let due = format!(
            "{judged} looked at or more, {} removed, of which {} to {} orphans, and {} archives",
            removed.all, removed.orphans_min, removed.orphans_max, removed.archives
        );
        Mismatch::new("other counts", due, format!("{counts:?}"))
    });
}

/// Judges what was said of the store.
pub fn judge_status(
    due: &ExpectedStatus,
    projects: &[ProjectStatus],
    archives: &[String],
    checks: &mut Checks,
) {
    let rule = &rules::MAINTENANCE_COMMANDS;
    let found = || format!("{projects:?}");
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
            let due = format!("{workdir} once, with {count} checkpoints, {states:?}");
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
    let said: BTreeSet<String> = archives.iter().cloned().collect();
    checks.same(Judge::Answer, rule, "archives", &due.archives, &said);
}

/// Judges that what was to be removed is gone, and teaches the world that.
///
/// # Errors
/// The base cannot be looked at.
pub fn judge_cleared(
    world: &mut World,
    cleared: Cleared,
    sandbox: &Sandbox,
    checks: &mut Checks,
) -> io::Result<()> {
    let mut left = base::archives(sandbox)?;
    if cleared == Cleared::Everything {
        left.extend(sandbox.store().exists().then(|| "store".to_owned()));
        let direct = world.repositories().keys();
        left.extend(direct.filter(|name| sandbox.base().join(name).exists()).cloned());
        world.learn_cleared();
    } else {
        for name in world.archives().keys().cloned().collect::<Vec<_>>() {
            world.learn_archive_gone(&name);
        }
    }
    checks.check(Judge::Disk, &rules::MAINTENANCE_COMMANDS, left.is_empty(), || {
        Mismatch::new("not all was cleared", format!("{cleared:?} gone"), format!("{left:?}"))
    });
    let lost = world.histories().next().is_some() && !sandbox.store().exists();
    checks.check(Judge::Disk, &rules::MAINTENANCE_COMMANDS, !lost, || {
        Mismatch::new("more was cleared", format!("{cleared:?} gone and nothing else"), "no store")
    });
    Ok(())
}

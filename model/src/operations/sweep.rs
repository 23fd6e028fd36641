//! Judges sweeps, which are automatic, and prunes, which are requested: when they may run, what they may
//! remove, and what they really removed.
//!
//! A subject may choose, within the rules, which checkpoints it evicts because of the size limit of the
//! store; [`crate::store`] judges that choice.

use crate::allowed::{Allowed, AllowedSweep, Disposition};
use crate::answer::{Counts, SweepOutcome};
use crate::bytes::{self, ByteString};
use crate::configuration::Configuration;
use crate::excuse::Excuse;
use crate::files::Node;
use crate::observation::{Base, Contents, Observation};
use crate::plain::plain;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Checkpoint, Marker, Repository, Settings, World};

/// Seconds of an hour.
const HOUR: i64 = 60 * 60;
/// Seconds of a day.
const DAY: i64 = 24 * HOUR;

/// Whether a sweep may be made now.
struct Timing {
    may_run: bool,
    may_decline: bool,
}

/// The bounds of a sweep; 0 is no bound.
struct SweepBounds {
    retention_days: u64,
    max_total_bytes: u64,
    delete_orphans: bool,
}

/// What a subject reports of a sweep.
#[derive(Clone, Copy)]
pub(super) struct SweepReport<'a> {
    pub(super) outcome: SweepOutcome,
    pub(super) counts: &'a Counts,
}

impl World {
    /// The correct sweep when a process starts.
    pub(super) fn allows_sweep(&self) -> Allowed {
        let settings = &self.settings;
        let bounds = SweepBounds {
            retention_days: settings.retention_days,
            max_total_bytes: settings.max_total_bytes,
            delete_orphans: settings.delete_orphans,
        };
        self.allows_maintenance(self.timing(), bounds, false)
    }

    /// The correct prune on request, which no interval delays.
    pub(super) fn allows_prune(
        &self,
        retention_days: u64,
        max_total_bytes: u64,
        delete_orphans: bool,
    ) -> Allowed {
        let bounds = SweepBounds { retention_days, max_total_bytes, delete_orphans };
        self.allows_maintenance(Timing { may_run: true, may_decline: false }, bounds, true)
    }

    /// The correct prune with the bounds of the configuration file.
    pub(super) fn allows_prune_as_configured(&self) -> Allowed {
        self.configuration()
            .map_or(Allowed::Unknown(Excuse::NoRule), |configured| self.prunes_by(&configured))
    }

    fn prunes_by(&self, configured: &Configuration) -> Allowed {
        let Configuration { retention_days, delete_orphans, .. } = *configured;
        self.allows_prune(retention_days, configured.max_total_bytes(), delete_orphans)
    }

    /// Whether a sweep may be made now, and whether it may be declined.
    ///
    /// Implements [`rules::SWEEP_INTERVAL`].
    fn timing(&self) -> Timing {
        if !self.settings.auto_prune {
            return Timing { may_run: false, may_decline: true };
        }
        let interval = i64::try_from(self.settings.min_interval_hours).unwrap_or(i64::MAX);
        let interval = interval.saturating_mul(HOUR);
        let is_empty = self.histories().next().is_none() && self.maintenance.archives.is_empty();
        let recent = |time: i64| (0..interval).contains(&self.seconds().saturating_sub(time));
        let manual = self.maintenance.pruned.is_some_and(recent);
        match self.maintenance.marker {
            Marker::At(time) if recent(time) => Timing { may_run: false, may_decline: true },
            Marker::Unknown => Timing { may_run: true, may_decline: true },
            // A sweep of an empty store cannot be observed, and a prune may count as a sweep.
            _ => Timing { may_run: true, may_decline: is_empty || manual },
        }
    }

    fn allows_maintenance(&self, timing: Timing, bounds: SweepBounds, manual: bool) -> Allowed {
        let days = i64::try_from(bounds.retention_days).unwrap_or(i64::MAX);
        let policy = SweepPolicy {
            world: self,
            retention: days.saturating_mul(DAY),
            delete_orphans: bounds.delete_orphans,
        };
        let judged = |(path, history)| (ByteString::clone(path), policy.project(path, history));
        let projects = self.histories().map(judged);
        let archives = self.maintenance.archives.iter();
        let archives = archives.map(|(name, made)| (name.clone(), policy.archive(*made)));
        let unarchived = self.maintenance.repositories.iter();
        let unarchived = unarchived.filter(|(_, repository)| repository.archive.is_none());
        let repositories =
            unarchived.map(|(name, repository)| (name.clone(), policy.repository(repository)));
        Allowed::Sweep(Box::new(AllowedSweep {
            may_run: timing.may_run,
            may_decline: timing.may_decline,
            projects: projects.collect(),
            archives: archives.collect(),
            repositories: repositories.collect(),
            max_total_bytes: bounds.max_total_bytes,
            manual,
        }))
    }

    /// How many projects were named in requests and have no checkpoint.
    fn mentioned_only(&self) -> usize {
        self.maintenance.uses.keys().filter(|project| self.history(project).is_empty()).count()
    }

    /// The evidence in the files that a directory is gone.
    ///
    /// Implements [`rules::SWEEP_ORPHANS`] and [`rules::SWEEP_EVIDENCE`].
    pub(super) fn evidence(&self, project: &[u8]) -> Evidence {
        let parent = bytes::parent(project);
        match (self.files.get(project), self.files.get(parent)) {
            (Some(Node::Directory), _) => Evidence::There,
            (Some(_), _) => Evidence::Doubtful,
            (None, Some(Node::Directory)) if !self.was_renamed(project) => Evidence::Gone,
            (None, Some(_)) => Evidence::Doubtful,
            (None, None) => Evidence::None,
        }
    }
}

/// The evidence that a directory is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The directory exists.
    There,
    /// It is missing, and its parent directory exists.
    Gone,
    /// Neither the directory nor its parent exists.
    None,
    /// Something else exists at its path, or at that of its parent, or it was renamed.
    Doubtful,
}

/// Decides what a sweep may remove.
struct SweepPolicy<'a> {
    world: &'a World,
    /// Seconds; 0 is no bound.
    retention: i64,
    delete_orphans: bool,
}

impl SweepPolicy<'_> {
    /// Whether an item last used between these times may count as stale, and whether it must.
    fn stale(&self, earliest: i64, latest: i64) -> (bool, bool) {
        let age = |time: i64| self.world.seconds().saturating_sub(time);
        let bound = self.retention > 0;
        (bound && age(earliest) >= self.retention, bound && age(latest) > self.retention)
    }

    /// Implements [`rules::SWEEP_ORPHANS`], [`rules::SWEEP_STALE`] and [`rules::SWEEP_EVIDENCE`].
    fn project(&self, path: &ByteString, history: &[Checkpoint]) -> Disposition {
        let taken = history.last().map_or(i64::MIN, |newest| newest.time);
        let used = self.world.maintenance.uses.get(path);
        let touched = used.map_or(taken, |used| used.touched);
        let latest = used.map_or(taken, |used| used.latest).max(taken);
        let evidence = self.world.evidence(path);
        // The directory and the times of a project with damaged metadata need not be known.
        let damaged = self.world.maintenance.damaged.contains(path);
        let evidence = if damaged { Evidence::None } else { evidence };
        let (may_be_stale, is_stale) = self.stale(touched.min(taken), latest);
        let disposition = self.disposition(evidence, may_be_stale, is_stale && !damaged);
        // No rule says whether a project with pinned checkpoints counts as unused.
        let is_pinned = self.world.listed(path).iter().any(|checkpoint| checkpoint.carried.pinned);
        Disposition { may_stay: disposition.may_stay || is_pinned, ..disposition }
    }

    fn repository(&self, repository: &Repository) -> Disposition {
        let evidence = self.world.evidence(&repository.project);
        let (may_be_stale, is_stale) = self.stale(repository.changed, repository.changed);
        self.disposition(evidence, may_be_stale, is_stale)
    }

    fn archive(&self, made: i64) -> Disposition {
        let (may_be_stale, is_stale) = self.stale(made, made);
        self.disposition(Evidence::There, may_be_stale, is_stale)
    }

    fn disposition(&self, evidence: Evidence, may_be_stale: bool, is_stale: bool) -> Disposition {
        let is_orphan = self.delete_orphans && evidence == Evidence::Gone;
        let rule: RuleRef = match evidence {
            _ if is_orphan => &rules::SWEEP_ORPHANS,
            // However little is known of its directory, it is removed because of its age.
            _ if is_stale => &rules::SWEEP_STALE,
            Evidence::Gone => &rules::SWEEP_ORPHANS,
            Evidence::None => &rules::SWEEP_EVIDENCE,
            Evidence::There | Evidence::Doubtful => &rules::SWEEP_STALE,
        };
        Disposition {
            may_stay: !is_orphan && !is_stale,
            may_be_orphan: is_orphan || self.delete_orphans && evidence == Evidence::Doubtful,
            may_be_stale: may_be_stale && !is_orphan,
            rule,
        }
    }
}

/// Compares a sweep or prune with the correct one.
pub(super) fn compare_request(
    world: &World,
    sweep: &AllowedSweep,
    report: SweepReport<'_>,
    seen: &Observation,
) -> Checks {
    let found = compare(world, sweep, report, seen);
    match seen.request {
        Request::PruneAsConfigured => as_configured(world, found, report, seen),
        _ => found,
    }
}

/// Compares a sweep with the correct one: whether it was made, and what it removed.
///
/// Implements [`rules::SWEEP_INTERVAL`], [`rules::MAINTENANCE_COMMANDS`],
/// [`rules::MAINTENANCE_NEVER_RAISES`] and [`rules::SWEEP_RECLAIMS`].
fn compare(
    world: &World,
    sweep: &AllowedSweep,
    report: SweepReport<'_>,
    seen: &Observation,
) -> Checks {
    let mut checks = Checks::default();
    let SweepReport { outcome, counts } = report;
    let done = outcome == SweepOutcome::Done;
    let allowed = if done { sweep.may_run } else { sweep.may_decline };
    let rule: RuleRef =
        if sweep.manual { &rules::MAINTENANCE_COMMANDS } else { &rules::SWEEP_INTERVAL };
    checks.check(Judge::Answer, rule, allowed, || {
        let symptom = if done { "swept too early" } else { "not swept" };
        let expected = format!("may be made: {}, declined: {}", sweep.may_run, sweep.may_decline);
        Mismatch::new(symptom, expected, plain(&outcome))
    });
    if !done || !allowed {
        return checks;
    }
    if world.may_maintenance_fail() {
        // What cannot be read or replaced may count as an error, and prevent space from being freed.
        checks.excused(&rules::MAINTENANCE_NEVER_RAISES, Excuse::Damage, 1);
        checks.excused(&rules::SWEEP_COUNTS, Excuse::Damage, 1);
        checks.excused(&rules::SWEEP_RECLAIMS, Excuse::Damage, 1);
        if let Some(contents) = &seen.contents {
            let effect = SweepEffect { contents, counts };
            compare_projects(world, sweep, effect, &mut checks);
        }
        return checks;
    }
    checks.check(Judge::Answer, &rules::MAINTENANCE_NEVER_RAISES, counts.errors == 0, || {
        Mismatch::new("errors", "no errors, since nothing could fail", plain(&counts))
    });
    let (Some(contents), Some(base)) = (&seen.contents, &seen.base) else { return checks };
    let effect = SweepEffect { contents, counts };
    let mut removed = compare_projects(world, sweep, effect, &mut checks);
    compare_v1(sweep, base, &mut removed, &mut checks);
    // A sweep may find a project only by its metadata.
    let hidden = sweep.projects.keys().filter(|path| world.damaged().contains(*path)).count();
    let judged = sweep.projects.len() + sweep.repositories.len() - hidden;
    removed.mentioned = world.mentioned_only();
    compare_counts(judged, &removed, effect, &mut checks);
    if let Some(unreachable) = &contents.unreachable {
        checks.check(Judge::Git, &rules::SWEEP_RECLAIMS, unreachable.is_empty(), || {
            let found = plain(&unreachable);
            Mismatch::new("garbage stays", "only objects that a checkpoint needs", found)
        });
    }
    checks
}

/// The result for a prune with the bounds of the configuration file. Where the prune is correct for
/// other bounds, the only violation is that it used those.
///
/// Implements [`rules::MAINTENANCE_DEFAULTS`].
fn as_configured(
    world: &World,
    mut found: Checks,
    report: SweepReport<'_>,
    seen: &Observation,
) -> Checks {
    let rule = &rules::MAINTENANCE_DEFAULTS;
    let Some(first) = found.violations.first() else {
        found.held(rule, u64::from(world.configuration() != Some(Configuration::default())));
        return found;
    };
    let Settings { retention_days, delete_orphans, max_total_bytes, .. } = world.settings;
    let other_bounds = [
        world.prunes_by(&Configuration::default()),
        world.allows_prune(retention_days, max_total_bytes, delete_orphans),
    ];
    let explains = |allowed: &Allowed| {
        let Allowed::Sweep(sweep) = allowed else { return true };
        compare(world, sweep, report, seen).violations.is_empty()
    };
    if other_bounds.iter().any(explains) {
        let Mismatch { expected, found: found_instead, .. } = &first.mismatch;
        let mismatch = Mismatch::new("configured otherwise", expected, found_instead);
        found.violations.clear();
        found.check(Judge::Disk, rule, false, || mismatch);
    }
    found
}

/// The effect of a sweep on the store, and its reported counts.
#[derive(Clone, Copy)]
struct SweepEffect<'a> {
    contents: &'a Contents,
    counts: &'a Counts,
}

/// How many items a sweep removed.
#[derive(Default)]
struct Removed {
    /// Projects and repositories.
    items: usize,
    /// Those that can only have been orphans.
    orphans_min: usize,
    /// Those that may have been orphans.
    orphans_max: usize,
    archives: usize,
    /// Projects without a checkpoint whose metadata may exist, and be counted when it is removed.
    mentioned: usize,
}

impl Removed {
    fn add(&mut self, disposition: &Disposition) {
        self.items += 1;
        self.orphans_min += usize::from(!disposition.may_be_stale);
        self.orphans_max += usize::from(disposition.may_be_orphan);
    }
}

/// Compares whether an item exists with its disposition; returns whether it was correctly removed.
fn compare_item(name: &str, disposition: &Disposition, exists: bool, checks: &mut Checks) -> bool {
    let allowed = if exists { disposition.may_stay } else { disposition.may_go() };
    if disposition.may_stay && disposition.may_go() {
        checks.excused(disposition.rule, Excuse::Evidence, 1);
        return !exists;
    }
    checks.check(Judge::Disk, disposition.rule, allowed, || {
        let symptom = if exists { "not swept away" } else { "swept away" };
        let expected =
            format!("{name}: may stay {}, may go {}", disposition.may_stay, disposition.may_go());
        Mismatch::new(symptom, expected, if exists { "it exists" } else { "it is gone" })
    });
    allowed && !exists
}

/// Compares which projects exist, and returns which were correctly removed.
fn compare_projects(
    world: &World,
    sweep: &AllowedSweep,
    effect: SweepEffect<'_>,
    checks: &mut Checks,
) -> Removed {
    let SweepEffect { contents, counts } = effect;
    let mut removed = Removed::default();
    for (project, disposition) in &sweep.projects {
        // The directory and the times of a project without an intact checkpoint may be unknown.
        let has_intact =
            world.listed(project).iter().any(|checkpoint| !world.is_damaged(checkpoint));
        if world.is_history_unknown(project) || !has_intact {
            checks.excused(disposition.rule, Excuse::Damage, 1);
            continue;
        }
        let hash = world.hash(project);
        let exists = contents.visible.contains_key(&hash);
        // Where no orphan was counted, it was removed because of its age.
        let for_its_age = !exists && counts.orphans == 0 && counts.stale > 0;
        let rule: RuleRef = if for_its_age { &rules::SWEEP_STALE } else { disposition.rule };
        let disposition = Disposition { rule, ..*disposition };
        if compare_item(&project.to_string(), &disposition, exists, checks) {
            // A folder in place of a file need not be removed.
            if world.may_maintenance_fail() {
                continue;
            }
            let traces = contents.traces.get(&hash).map_or(&[][..], Vec::as_slice);
            checks.check(Judge::Disk, disposition.rule, traces.is_empty(), || {
                Mismatch::new("traces stay", format!("nothing of {project}"), plain(&traces))
            });
            removed.add(&disposition);
        }
    }
    removed
}

fn compare_v1(sweep: &AllowedSweep, base: &Base, removed: &mut Removed, checks: &mut Checks) {
    for (name, disposition) in &sweep.repositories {
        // Instead of removing a repository, a sweep may archive it.
        let archived = base.repositories.get(name).is_some_and(|locations| {
            locations.iter().all(|location| location.archive.is_some()) && !locations.is_empty()
        });
        let exists = base
            .repositories
            .get(name)
            .is_some_and(|locations| locations.iter().any(|location| location.archive.is_none()));
        if !archived && compare_item(name, disposition, exists, checks) {
            removed.add(disposition);
        }
    }
    for (name, disposition) in &sweep.archives {
        if compare_item(name, disposition, base.archives.contains(name), checks) {
            removed.archives += 1;
        }
    }
}

/// Implements [`rules::SWEEP_COUNTS`].
fn compare_counts(judged: usize, removed: &Removed, effect: SweepEffect<'_>, checks: &mut Checks) {
    let SweepEffect { contents, counts } = effect;
    let orphans_max = removed.orphans_max + removed.mentioned;
    let orphans = (removed.orphans_min..=orphans_max).contains(&counts.orphans);
    let total = counts.orphans.saturating_add(counts.stale);
    // Archives may count as stale, or separately.
    let total_max = removed.items + removed.archives + removed.mentioned;
    let is_total_right = (removed.items..=total_max).contains(&total);
    // A rewritten file, such as a pack, may be larger than what was removed.
    let freed = removed.items == 0 || counts.bytes_freed > 0 || contents.no_smaller;
    let holds = counts.scanned >= judged && is_total_right && freed;
    // Where only the orphans are wrong, some were removed for another reason.
    let rule: RuleRef = if holds { &rules::SWEEP_ORPHANS } else { &rules::SWEEP_COUNTS };
    checks.held(&rules::SWEEP_COUNTS, u64::from(holds));
    checks.check(Judge::Answer, rule, holds && orphans, || {
        let expected = format!(
            "at least {judged} scanned, {} removed, of which {} to {} orphans, and {} archives",
            removed.items, removed.orphans_min, orphans_max, removed.archives
        );
        Mismatch::new("other counts", expected, plain(&counts))
    });
}

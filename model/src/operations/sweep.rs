//! Sweeps and prunes: when one may be made, what it may remove, and whether it did.
//!
//! Which checkpoints a bound on the total size leaves is the subject's choice within the rules, and
//! judged by [`crate::store`].

use crate::allowed::{Allowed, AllowedSweep, Disposition};
use crate::answer::{Counts, SweepOutcome};
use crate::bytes::{self, ByteString};
use crate::configuration::Configuration;
use crate::files::Node;
use crate::observation::{Base, Contents, Observation};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{Checkpoint, Marker, Repository, Settings, World};

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

impl World {
    /// What a process does for the store when it starts.
    pub(super) fn allows_sweep(&self) -> Allowed {
        let settings = &self.settings;
        let bounds = (settings.retention_days, settings.max_total_bytes);
        self.allows_maintenance(self.is_due(), bounds, settings.delete_orphans, false)
    }

    /// The same on request: it waits for nothing.
    pub(super) fn allows_prune(&self, days: u64, bytes: u64, orphans: bool) -> Allowed {
        self.allows_maintenance((true, false), (days, bytes), orphans, true)
    }

    /// The same with what the configuration file says.
    pub(super) fn allows_prune_as_configured(&self) -> Allowed {
        self.configuration().map_or(Allowed::Unknown, |configured| self.prunes_by(&configured))
    }

    fn prunes_by(&self, configured: &Configuration) -> Allowed {
        let Configuration { retention_days, delete_orphans, .. } = *configured;
        self.allows_prune(retention_days, configured.max_total_bytes(), delete_orphans)
    }

    /// Whether a sweep may be made now, and whether it may be left.
    ///
    /// Implements [`rules::SWEEP_INTERVAL`].
    fn is_due(&self) -> (bool, bool) {
        if !self.settings.auto_prune {
            return (false, true);
        }
        let interval = i64::try_from(self.settings.min_interval_hours).unwrap_or(i64::MAX);
        let interval = interval.saturating_mul(HOUR);
        let nothing = self.histories().next().is_none() && self.maintenance.archives.is_empty();
        let recent = |at: i64| (0..interval).contains(&self.seconds().saturating_sub(at));
        let manual = self.maintenance.pruned.is_some_and(recent);
        match self.maintenance.marker {
            Marker::At(at) if recent(at) => (false, true),
            Marker::Unknown => (true, true),
            // Where there is nothing to sweep, nobody can tell; and a prune may count as a sweep.
            _ => (true, nothing || manual),
        }
    }

    fn allows_maintenance(
        &self,
        (may_run, may_decline): (bool, bool),
        (retention_days, max_total_bytes): (u64, u64),
        orphans: bool,
        manual: bool,
    ) -> Allowed {
        let days = i64::try_from(retention_days).unwrap_or(i64::MAX);
        let judge = Judgement { world: self, retention: days.saturating_mul(DAY), orphans };
        let projects = self.histories();
        let projects = projects.map(|(path, all)| (path.clone(), judge.project(path, all)));
        let archives = self.maintenance.archives.iter();
        let archives = archives.map(|(name, made)| (name.clone(), judge.archive(*made)));
        let standing =
            self.maintenance.repositories.iter().filter(|(_, one)| one.archive.is_none());
        let repositories = standing.map(|(name, one)| (name.clone(), judge.repository(one)));
        Allowed::Sweep(Box::new(AllowedSweep {
            may_run,
            may_decline,
            projects: projects.collect(),
            archives: archives.collect(),
            repositories: repositories.collect(),
            max_total_bytes,
            manual,
        }))
    }

    /// How many projects were asked about and have no checkpoint.
    fn noted_only(&self) -> usize {
        self.maintenance.uses.keys().filter(|project| self.history(project).is_empty()).count()
    }

    /// What the files say about whether a directory is gone.
    ///
    /// Implements [`rules::SWEEP_ORPHANS`] and [`rules::SWEEP_EVIDENCE`].
    pub(super) fn evidence(&self, project: &[u8]) -> Evidence {
        let parent = bytes::parent(project);
        match (self.files.get(project), self.files.get(parent)) {
            (Some(Node::Directory), _) => Evidence::There,
            (Some(_), _) => Evidence::Doubtful,
            (None, Some(Node::Directory)) => Evidence::Gone,
            (None, Some(_)) => Evidence::Doubtful,
            (None, None) => Evidence::None,
        }
    }
}

/// What there is to say that a directory is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// It is there.
    There,
    /// It is gone from a directory that is there.
    Gone,
    /// It cannot be seen, and neither can what it was in.
    None,
    /// Something else stands there, or in the place of what it was in.
    Doubtful,
}

/// Who judges what a sweep may do.
struct Judgement<'a> {
    world: &'a World,
    /// Seconds; 0 is no bound.
    retention: i64,
    orphans: bool,
}

impl Judgement<'_> {
    /// Whether something last used between these times may count as stale, and whether it must.
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
        // Of a project whose metadata is damaged nobody need know the directory, or any time.
        let damaged = self.world.maintenance.damaged.contains(path);
        let evidence = if damaged { Evidence::None } else { evidence };
        let stale = self.stale(touched.min(taken), latest);
        let disposition = self.disposition(evidence, (stale.0, stale.1 && !damaged));
        // Whether a project with pinned checkpoints counts as one that nobody needs, no rule says.
        let is_pinned = self.world.listed(path).iter().any(|one| one.carried.pinned);
        Disposition { may_stay: disposition.may_stay || is_pinned, ..disposition }
    }

    fn repository(&self, one: &Repository) -> Disposition {
        self.disposition(self.world.evidence(&one.project), self.stale(one.changed, one.changed))
    }

    fn archive(&self, made: i64) -> Disposition {
        self.disposition(Evidence::There, self.stale(made, made))
    }

    fn disposition(
        &self,
        evidence: Evidence,
        (may_be_stale, is_stale): (bool, bool),
    ) -> Disposition {
        let is_orphan = self.orphans && evidence == Evidence::Gone;
        let rule: RuleRef = match evidence {
            _ if is_orphan => &rules::SWEEP_ORPHANS,
            // However little is known of its directory, it goes because of its age.
            _ if is_stale => &rules::SWEEP_STALE,
            Evidence::Gone => &rules::SWEEP_ORPHANS,
            Evidence::None => &rules::SWEEP_EVIDENCE,
            Evidence::There | Evidence::Doubtful => &rules::SWEEP_STALE,
        };
        Disposition {
            may_stay: !is_orphan && !is_stale,
            may_be_orphan: is_orphan || self.orphans && evidence == Evidence::Doubtful,
            may_be_stale: may_be_stale && !is_orphan,
            rule,
        }
    }
}

/// Compares a sweep with what it may be and what it may remove.
///
/// Implements [`rules::SWEEP_INTERVAL`], [`rules::MAINTENANCE_COMMANDS`],
/// [`rules::MAINTENANCE_NEVER_RAISES`] and [`rules::SWEEP_RECLAIMS`].
pub(super) fn compare(
    world: &World,
    due: &AllowedSweep,
    (outcome, counts): (SweepOutcome, &Counts),
    seen: &Observation,
    checks: &mut Checks,
) {
    let done = outcome == SweepOutcome::Done;
    let allowed = if done { due.may_run } else { due.may_decline };
    let rule: RuleRef =
        if due.manual { &rules::MAINTENANCE_COMMANDS } else { &rules::SWEEP_INTERVAL };
    checks.check(Judge::Answer, rule, allowed, || {
        let symptom = if done { "swept too early" } else { "not swept" };
        let due = format!("may be made: {}, declined: {}", due.may_run, due.may_decline);
        Mismatch::new(symptom, due, plain(&outcome))
    });
    if !done || !allowed {
        return;
    }
    if world.may_upkeep_fail() {
        // What cannot be read, or replaced, may be counted as an error, and keep space from being
        // freed.
        if let Some(contents) = &seen.contents {
            let mut removed = Removed::default();
            compare_projects(world, due, (contents, counts), &mut removed, checks);
        }
        return;
    }
    checks.check(Judge::Answer, &rules::MAINTENANCE_NEVER_RAISES, counts.errors == 0, || {
        Mismatch::new("errors", "no errors, since nothing stood in the way", plain(&counts))
    });
    let (Some(contents), Some(base)) = (&seen.contents, &seen.base) else { return };
    let mut removed = Removed::default();
    compare_projects(world, due, (contents, counts), &mut removed, checks);
    compare_v1(due, base, &mut removed, checks);
    // What is noted of a project may be all that leads a sweep to it.
    let hidden = due.projects.keys().filter(|path| world.damaged().contains(*path)).count();
    let judged = due.projects.len() + due.repositories.len() - hidden;
    removed.noted = world.noted_only();
    compare_counts(judged, &removed, (counts, contents.no_smaller), checks);
    if let Some(unreachable) = &contents.unreachable {
        checks.check(Judge::Git, &rules::SWEEP_RECLAIMS, unreachable.is_empty(), || {
            let found = plain(&unreachable);
            Mismatch::new("garbage stays", "nothing that no checkpoint needs", found)
        });
    }
}

/// What is wrong with a prune that was to do what the configuration file says. Where it did what
/// another configuration would make it do, that is what is wrong, and not how it did that.
///
/// Implements [`rules::MAINTENANCE_DEFAULTS`].
pub(super) fn as_configured(
    world: &World,
    mut found: Checks,
    said: (SweepOutcome, &Counts),
    seen: &Observation,
) -> Checks {
    let rule = &rules::MAINTENANCE_DEFAULTS;
    let Some(first) = found.violations.first() else {
        found.held(rule, u64::from(world.configuration() != Some(Configuration::default())));
        return found;
    };
    let Settings { retention_days, delete_orphans, max_total_bytes, .. } = world.settings;
    let others = [
        world.prunes_by(&Configuration::default()),
        world.allows_prune(retention_days, max_total_bytes, delete_orphans),
    ];
    let explains = |other: &Allowed| {
        let mut checks = Checks::default();
        if let Allowed::Sweep(other) = other {
            compare(world, other, said, seen, &mut checks);
        }
        checks.violations.is_empty()
    };
    if others.iter().any(explains) {
        let (expected, found_instead) = (&first.mismatch.expected, &first.mismatch.found);
        let mismatch = Mismatch::new("configured otherwise", expected, found_instead);
        found.violations.clear();
        found.check(Judge::Disk, rule, false, || mismatch);
    }
    found
}

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
    /// How many projects without a checkpoint may have been noted, and be counted when their note
    /// goes.
    noted: usize,
}

impl Removed {
    fn add(&mut self, disposition: &Disposition) {
        self.all += 1;
        self.orphans_min += usize::from(!disposition.may_be_stale);
        self.orphans_max += usize::from(disposition.may_be_orphan);
    }
}

/// Compares whether something is there with what may become of it; answers whether it is rightly
/// gone.
fn compare_one(what: &str, due: &Disposition, stands: bool, checks: &mut Checks) -> bool {
    let allowed = if stands { due.may_stay } else { due.may_go() };
    checks.check(Judge::Disk, due.rule, allowed, || {
        let symptom = if stands { "not swept away" } else { "swept away" };
        let due = format!("{what}: may stay {}, may go {}", due.may_stay, due.may_go());
        Mismatch::new(symptom, due, if stands { "it is there" } else { "it is gone" })
    });
    allowed && !stands
}

fn compare_projects(
    world: &World,
    due: &AllowedSweep,
    (contents, counts): (&Contents, &Counts),
    removed: &mut Removed,
    checks: &mut Checks,
) {
    for (project, disposition) in &due.projects {
        // Of what is damaged as a whole nobody may be able to say whose it is, or when it was.
        let whole = world.listed(project).iter().any(|one| !world.is_damaged(one));
        if world.is_adrift(project) || !whole {
            continue;
        }
        let hash = world.hash(project);
        let stands = contents.visible.contains_key(&hash);
        // Where nothing was counted as an orphan, its age is why it went.
        let for_its_age = !stands && counts.orphans == 0 && counts.stale > 0;
        let rule: RuleRef = if for_its_age { &rules::SWEEP_STALE } else { disposition.rule };
        let disposition = Disposition { rule, ..*disposition };
        if compare_one(&project.to_string(), &disposition, stands, checks) {
            // A folder in the place of a file is nobody's to remove.
            if world.may_upkeep_fail() {
                continue;
            }
            let traces = contents.traces.get(&hash).map_or(&[][..], Vec::as_slice);
            checks.check(Judge::Disk, disposition.rule, traces.is_empty(), || {
                Mismatch::new("traces stay", format!("nothing of {project}"), plain(&traces))
            });
            removed.add(&disposition);
        }
    }
}

fn compare_v1(due: &AllowedSweep, base: &Base, removed: &mut Removed, checks: &mut Checks) {
    for (name, disposition) in &due.repositories {
        // Instead of judging it, a sweep may put it where such things go.
        let moved = base.repositories.get(name).is_some_and(|places| {
            places.iter().all(|place| place.archive.is_some()) && !places.is_empty()
        });
        let stands = base
            .repositories
            .get(name)
            .is_some_and(|places| places.iter().any(|place| place.archive.is_none()));
        if !moved && compare_one(name, disposition, stands, checks) {
            removed.add(disposition);
        }
    }
    for (name, disposition) in &due.archives {
        if compare_one(name, disposition, base.archives.contains(name), checks) {
            removed.archives += 1;
        }
    }
}

/// Implements [`rules::SWEEP_COUNTS`].
fn compare_counts(
    judged: usize,
    removed: &Removed,
    (counts, no_smaller): (&Counts, bool),
    checks: &mut Checks,
) {
    let orphans_max = removed.orphans_max + removed.noted;
    let orphans = (removed.orphans_min..=orphans_max).contains(&counts.orphans);
    let both = counts.orphans.saturating_add(counts.stale);
    // Archives may count among what is stale, or by themselves.
    let together_max = removed.all + removed.archives + removed.noted;
    let together = (removed.all..=together_max).contains(&both);
    // What is written anew, such as a pack, may take more than what went.
    let freed = removed.all == 0 || counts.bytes_freed > 0 || no_smaller;
    let holds = counts.scanned >= judged && together && freed;
    // The total is right, so if the orphans are not, some were removed for another reason.
    let rule: RuleRef = if holds { &rules::SWEEP_ORPHANS } else { &rules::SWEEP_COUNTS };
    checks.held(&rules::SWEEP_COUNTS, u64::from(holds));
    checks.check(Judge::Answer, rule, holds && orphans, || {
        let due = format!(
            "{judged} looked at or more, {} removed, of which {} to {} orphans, and {} archives",
            removed.all, removed.orphans_min, orphans_max, removed.archives
        );
        Mismatch::new("other counts", due, plain(&counts))
    });
}

//! The oracle: observes files, base and store. Only the model compares them with what is allowed.
//!
//! [`Oracle`] observes the files and the base before and after each request. If the subject's store can be
//! read, it also observes the store with plain git: a little of it after each request that needs that, and
//! all of it after a failure and at the end.

mod base;
mod harms;
mod loose;
mod plain_git;
mod pre_restore;
mod store;
mod stored;

pub use base::Planted;

use crate::git_objects::{self, KnownIds};
use crate::sandbox::manifest::{self, Manifest};
use crate::sandbox::outline::Outline;
use crate::sandbox::store_edits::DamagedFile;
use crate::sandbox::{Sandbox, bytes_below};
use harms::{GitView, StoreDamage};
use herma_model::allowed::CheckpointKind;
use herma_model::answer::{Answer, Restored, SweepOutcome};
use herma_model::observation::{Contents, Sizes, is_stored};
use herma_model::store::End;
use herma_model::world::BOUND_MET_MAX;
use herma_model::{Allowed, ByteString, Files, Object, Observation, Request, Tree, World};
use plain_git::{BlobContents, Git};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
pub use store::ByGit;
use store::KnownTrees;
use stored::StoreContents;

/// What an observation is about: the world before a request, and the sandbox.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The world.
    pub world: &'a World,
    /// The sandbox.
    pub sandbox: &'a Sandbox,
}

/// Observes one sandbox.
pub struct Oracle {
    git: Git,
    /// The disk as it was last observed.
    seen: Manifest,
    /// Whether nothing but requests changed the disk since.
    is_current: bool,
    /// The ids of the blobs that were computed so far.
    known_ids: KnownIds,
    /// What the runner added to the base of the store.
    planted: Planted,
    /// The files of the store that the runner damaged.
    damage: StoreDamage,
    /// The largest size of each stored object; `None` once something was stored without being
    /// observed.
    sizes_max: Option<Sizes>,
    /// The base, as it was last outlined.
    outline: Outline,
    /// The name of the folder in the projects in which the subject keeps its store.
    store_folder: Option<String>,
    /// Whether the store can be read by plain git.
    layout: bool,
}

impl Oracle {
    /// The oracle of a sandbox in which no subject is open yet.
    ///
    /// # Errors
    /// The sandbox cannot be written.
    pub fn new(sandbox: &Sandbox) -> io::Result<Self> {
        let seen = Manifest::none(sandbox.root())?;
        Ok(Oracle {
            git: Git::on(sandbox.store(), sandbox.accepted_stores().clone()),
            outline: Outline::none(&seen),
            seen,
            is_current: false,
            known_ids: KnownIds::default(),
            planted: Planted::new(),
            damage: StoreDamage::default(),
            sizes_max: None,
            store_folder: None,
            layout: false,
        })
    }

    /// Records that a subject was opened, which may have changed files, and whether plain git can read its
    /// store.
    pub fn opened(&mut self, layout: bool) {
        self.is_current = false;
        self.layout = layout;
    }

    /// Records the name of the folder in the projects in which the subject keeps its store; the folder is not
    /// part of the files.
    pub fn set_store_folder(&mut self, folder: &str) {
        self.is_current = false;
        self.seen = self.seen.forgotten();
        self.store_folder = Some(folder.to_owned());
    }

    fn manifest(&self, sandbox: &Sandbox) -> io::Result<Manifest> {
        let store_folder = self.store_folder.as_deref();
        manifest::read(sandbox.root(), &sandbox.base(), store_folder, &self.seen)
    }

    /// Checks that no file changed without its time of change, by which unchanged files are recognized.
    fn check_times(&self, sandbox: &Sandbox) -> io::Result<()> {
        let store_folder = self.store_folder.as_deref();
        let base = sandbox.base();
        let all = manifest::read(sandbox.root(), &base, store_folder, &Manifest::default())?;
        let same = self.manifest(sandbox)?;
        match same.files.differences(&all.files).first() {
            None => Ok(()),
            Some(found) => {
                let path = found.path;
                Err(io::Error::other(format!("{path} changed, but not the time of its change")))
            }
        }
    }

    /// The files before a request.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn files(&mut self, sandbox: &Sandbox) -> io::Result<&Files> {
        if !self.is_current {
            self.seen = self.manifest(sandbox)?;
            self.is_current = true;
        }
        Ok(&self.seen.files)
    }

    /// Records that the runner changed files.
    pub fn edited(&mut self) {
        self.is_current = false;
    }

    /// Records that the runner edited the base; the content at `path` must stay as it is now.
    ///
    /// # Errors
    /// The content cannot be read.
    pub fn planted(&mut self, sandbox: &Sandbox, path: Option<String>) -> io::Result<()> {
        // The edit may have created the base.
        self.is_current = false;
        if let Some(path) = path {
            self.planted.insert(path.clone(), base::content(&sandbox.base().join(&path))?);
        }
        Ok(())
    }

    /// Whether the runner damaged the store.
    pub fn is_damaged(&self) -> bool {
        !self.damage.is_empty()
    }

    /// Records a file of the store that the runner damaged. Returns the lost objects, and the projects whose
    /// newest checkpoint is not named any more.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn damaged(
        &mut self,
        context: Context<'_>,
        damaged: DamagedFile,
    ) -> io::Result<(BTreeSet<Object>, BTreeSet<ByteString>)> {
        let Context { world, sandbox } = context;
        self.damage.add(damaged);
        // The store may be created anew, or its contents are no longer known.
        self.sizes_max = None;
        let mut lost = self.lost(sandbox, &world.objects())?;
        // Objects that were never stored are not damaged; the comparison at the end reports them.
        let git = self.git(sandbox)?;
        let never_stored = self.damage.lost(git.store(), &git, &lost)?;
        lost.retain(|object| !never_stored.contains(object) || world.lost().contains(object));
        Ok((lost, harms::unnamed_projects(world, &sandbox.store())))
    }

    /// Which of these objects are not stored intact.
    fn lost(&self, sandbox: &Sandbox, objects: &BTreeSet<Object>) -> io::Result<BTreeSet<Object>> {
        let store = sandbox.store();
        let git = self.git(sandbox)?;
        let mut lost = self.damage.lost(&store, &git, objects)?;
        lost.extend(self.damage.lost_states(&store));
        lost.extend(self.damage.incomplete_states(&store, &git)?);
        Ok(lost)
    }

    /// Git on a store in which it can read everything.
    fn git(&self, sandbox: &Sandbox) -> io::Result<GitView<'_>> {
        self.damage.git_view(&self.git, sandbox, sandbox.accepted_stores())
    }

    /// Makes a request, and observes its effects.
    ///
    /// # Errors
    /// The sandbox cannot be read.
    pub fn observe(
        &mut self,
        context: Context<'_>,
        request: &Request,
        allowed: &Allowed,
        ask: &mut dyn FnMut(&Request) -> Answer,
    ) -> io::Result<Observation> {
        let Context { world, sandbox } = context;
        // Even a read-only request may repair damage.
        let leaves_store = must_leave_store(request, allowed) && !self.damage.affects_checkpoints();
        // The outline is only read where it is compared: most requests may change the store.
        if leaves_store {
            self.outline = self.outline.again(&sandbox.base())?;
        }
        let refused = self.damage.refused_files(&sandbox.store());
        let bounded = self.is_bounded(world, request);
        if bounded && self.sizes_max.is_none() {
            self.sizes_max =
                Some(self.git(sandbox)?.contents(sandbox.has_store())?.loose_sizes_max);
        }
        let sweeps = matches!(allowed, Allowed::Sweep(_));
        let bytes_before = sweeps.then(|| bytes_below(&sandbox.base())).transpose()?;
        let answer = ask(request);
        let after = self.manifest(sandbox)?;
        let base_changes = leaves_store.then(|| self.base_changes(sandbox)).transpose()?;
        let before = self.is_current.then_some(&self.seen);
        let touched = before.map(|before| manifest::touched(before, &after));
        // Only the result of a restore is judged by these.
        let is_restored = matches!(answer, Answer::Restored(_));
        let before = before.filter(|_| is_restored);
        let rewritten = before.map(|before| manifest::rewritten(before, &after));
        let names = before.map(|before| (before.names.clone(), after.names.clone()));
        let mut contents = self.contents(context, request, &answer, bounded)?;
        if let (Some(contents), Some(bytes_before)) = (&mut contents, bytes_before) {
            contents.no_smaller = bytes_below(&sandbox.base())? >= bytes_before;
        }
        let clears = matches!(allowed, Allowed::Cleared(_) | Allowed::Sweep(_));
        let observes_base = clears || !self.planted.is_empty() || !world.strays().is_empty();
        let base =
            observes_base.then(|| base::observe(world, &mut self.planted, sandbox)).transpose()?;
        let held = match (allowed, &answer) {
            (Allowed::Restore(expected), Answer::Restored(restored)) if self.layout => {
                self.held(context, &expected.project, &expected.before.tree, restored)?
            }
            _ => None,
        };
        let lost =
            (!world.lost().is_empty()).then(|| self.lost(sandbox, world.lost())).transpose()?;
        let is_judged = self.layout && !refused.is_empty();
        let refused_files = is_judged.then(|| self.damage.refused_after(&sandbox.store(), &answer));
        let files = after.files.clone();
        self.seen = after;
        self.is_current = true;
        Ok(Observation {
            request: request.clone(),
            answer,
            files,
            touched: touched.unwrap_or_default(),
            rewritten: rewritten.unwrap_or_default(),
            names: names.unwrap_or_default(),
            base_changes,
            held,
            base,
            contents,
            histories: None,
            lost,
            refused_files: refused_files.flatten(),
            databases: Default::default(),
            measured: None,
        })
    }

    /// What changed in the base since its outline was read.
    fn base_changes(&mut self, sandbox: &Sandbox) -> io::Result<Vec<ByteString>> {
        let after = self.outline.again(&sandbox.base())?;
        let mut changes = self.outline.changes(&after);
        changes.retain(|path| self.damage.is_empty() || is_stored(path));
        self.outline = after;
        Ok(changes)
    }

    /// Whether the store must be below a total size limit after a request, and a history can reach that
    /// limit.
    fn is_bounded(&self, world: &World, request: &Request) -> bool {
        let bytes = world.size_bound(request);
        let is_judged = self.layout && world.has("settings.max_total_bytes");
        is_judged && (1..=BOUND_MET_MAX).contains(&bytes)
    }

    /// The contents of the store after a request that keeps it within limits.
    fn contents(
        &mut self,
        context: Context<'_>,
        request: &Request,
        answer: &Answer,
        bounded: bool,
    ) -> io::Result<Option<Contents>> {
        let Context { world, sandbox } = context;
        let swept = matches!(answer, Answer::Swept { outcome: SweepOutcome::Done, .. });
        let stored =
            matches!(answer, Answer::Taken { .. } | Answer::Protected(_) | Answer::Restored(_));
        let has_store = sandbox.has_store();
        let is_observed = swept && self.layout || stored && bounded && has_store;
        if !is_observed {
            // The known sizes are complete only if every request is observed.
            if !(bounded || request.only_looks()) {
                self.sizes_max = None;
            }
            return Ok(None);
        }
        let git = self.git(sandbox)?;
        let StoreContents { visible, sizes, loose_sizes_max } = git.contents(has_store)?;
        let is_repaired = git.is_repaired();
        drop(git);
        let mut sizes_max = self.sizes_max.take().unwrap_or_default();
        for (id, size) in &sizes {
            // An object may be stored in another form now, or may have been in between: the largest
            // size is judged.
            let loose_max = loose_sizes_max.get(id).copied().unwrap_or_default();
            let size_max = sizes_max.entry(id.clone()).or_insert(loose_max);
            *size_max = (*size_max).max(*size);
        }
        let mut contents = Contents { visible, sizes, ..Contents::default() };
        if bounded {
            contents.needs = store::needs(world, request, answer, &self.known_ids);
            self.sizes_max = Some(sizes_max.clone());
            contents.sizes_max = sizes_max;
        }
        if swept {
            let projects = world.histories().map(|(project, _)| world.hash(project));
            contents.traces =
                projects.map(|hash| (hash.clone(), base::traces(sandbox, &hash))).collect();
            let is_intact = has_store && !is_repaired;
            let unreachable = is_intact.then(|| self.git.unreachable(&contents)).transpose()?;
            contents.unreachable = unreachable;
        }
        Ok(Some(contents))
    }

    /// The content of the newest checkpoint before a restore, if it differs from what should have
    /// been captured. If the newest checkpoint may be damaged, the checkpoint before it may hold that
    /// instead.
    fn held(
        &self,
        context: Context<'_>,
        project: &[u8],
        captured: &Tree,
        restored: &Restored,
    ) -> io::Result<Option<Arc<Tree>>> {
        let Context { world, sandbox } = context;
        let mut newest: Vec<&String> = restored.safety.iter().collect();
        let has_pre_restore_checkpoint = restored.safety.is_some();
        for checkpoint in
            world.listed(project).iter().rev().take_while(|_| !has_pre_restore_checkpoint)
        {
            newest.push(&checkpoint.id);
            if !world.is_damaged(checkpoint) {
                break;
            }
        }
        let git = self.git(sandbox)?;
        let expected = git_objects::tree_id(captured, &self.known_ids).to_string();
        let trees: Vec<_> = newest.iter().map(|id| git.tree_of(id)).collect::<io::Result<_>>()?;
        if trees.contains(&Some(expected)) {
            return Ok(None);
        }
        match trees.into_iter().next() {
            Some(Some(tree)) => Ok(Some(Arc::new(git.tree(&tree, &mut BlobContents::new())?))),
            unreadable => Ok(unreadable.map(|_| Arc::default())),
        }
    }

    /// Adds all stored checkpoints to an observation, because something is wrong.
    ///
    /// # Errors
    /// Git is missing.
    pub fn look_closer(&mut self, context: Context<'_>, seen: &mut Observation) -> io::Result<()> {
        let Context { world, sandbox } = context;
        if self.layout && sandbox.has_store() {
            let project = seen.request.dir().and_then(|dir| world.canonical(dir));
            let captured = project.map(|project| world.capture(&project).tree.clone());
            let git = self.git(sandbox)?;
            let known = store::known_trees(world, captured, &self.known_ids);
            seen.histories = Some(store::histories(&git, &known, &self.known_ids)?);
        }
        Ok(())
    }

    /// Adds what the checkpoint of a second request needs to an observation of two requests.
    pub fn add_needs(
        &self,
        world: &World,
        contents: &mut Contents,
        request: &Request,
        answer: &Answer,
    ) {
        if !contents.needs.is_empty() {
            contents.needs.extend(store::needs(world, request, answer, &self.known_ids));
        }
    }

    /// Observes the state at the end of a history.
    ///
    /// # Errors
    /// Git or the store is missing.
    pub fn look_at_end(
        &mut self,
        context: Context<'_>,
        hostile: bool,
        by_git: ByGit,
    ) -> io::Result<End> {
        let Context { world, sandbox } = context;
        self.check_times(sandbox)?;
        let mut end = End {
            hostile,
            ran: sandbox.mark().exists(),
            hooked: sandbox.hooked().exists(),
            ..End::default()
        };
        let store_exists = sandbox.store().exists();
        if self.layout && (store_exists || world.histories().next().is_some()) {
            let git = self.git(sandbox)?;
            let known = match by_git {
                ByGit::Everything => KnownTrees::new(),
                _ => store::known_trees(world, None, &self.known_ids),
            };
            let histories = store::histories(&git, &known, &self.known_ids)?;
            if store_exists {
                let by_git = (!git.is_repaired()).then_some(by_git);
                end.layout = Some(store::layout(&git, world, by_git)?);
            }
            end.histories = Some(histories);
        }
        Ok(end)
    }
}

/// Whether the request must not change the store.
fn must_leave_store(request: &Request, allowed: &Allowed) -> bool {
    let restores = request.restores();
    match allowed {
        Allowed::Refused(_) => restores || request.only_looks(),
        Allowed::Restore(restore) => !restore.may_refuse.is_empty(),
        Allowed::Checkpoint(checkpoint) => checkpoint.kind == CheckpointKind::Disabled,
        Allowed::Protected(protected) => protected.disabled,
        _ => request.only_looks(),
    }
}

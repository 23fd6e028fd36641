//! The oracle: observes files, base and store. The model alone compares that with what is allowed.
//!
//! [`Oracle`] observes the files and the base before and after each request. If the subject's store
//! can be read, it asks plain git too: a little after each request that needs it, and everything
//! once something is wrong and at the end.

mod base;
mod harms;
mod loose;
mod plain_git;
mod rollbacks;
mod store;
mod stored;

pub use base::Planted;

use crate::git_objects;
use crate::sandbox::Sandbox;
use crate::sandbox::manifest::{self, Manifest};
use crate::sandbox::store_edits::Harmed;
use harms::{Harms, Reading};
use herma_model::allowed::CheckpointKind;
use herma_model::answer::{Answer, Restored, SweepOutcome};
use herma_model::observation::{Contents, Sizes, is_stored};
use herma_model::store::End;
use herma_model::world::BOUND_MET_MAX;
use herma_model::{Allowed, ByteString, Files, Object, Observation, Request, Tree, World};
use plain_git::Git;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use stored::Found;

/// Observes one sandbox.
pub struct Oracle {
    git: Git,
    /// The disk as it was last observed; `None` once an edit changed it.
    seen: Option<Manifest>,
    /// What the runner put into the base of the store.
    planted: Planted,
    /// What it damaged there.
    harms: Harms,
    /// The largest size of each stored object; `None` once something was stored without being
    /// observed.
    sizes_max: Option<Sizes>,
    /// The folder of the projects that the subject keeps its store in, by name.
    store_folder: Option<String>,
    /// Whether the store can be read by plain git.
    layout: bool,
}

impl Oracle {
    /// Starts with an observation of the files.
    ///
    /// # Errors
    /// The sandbox cannot be read.
    pub fn new(sandbox: &Sandbox, store_folder: Option<&str>, layout: bool) -> io::Result<Self> {
        let git = Git::on(sandbox.store(), sandbox.understood().clone());
        let (seen, planted, sizes_max) = (None, Planted::new(), None);
        let store_folder = store_folder.map(str::to_owned);
        let harms = Harms::default();
        let mut oracle = Oracle { git, seen, planted, harms, sizes_max, store_folder, layout };
        oracle.seen = Some(oracle.look(sandbox)?);
        Ok(oracle)
    }

    fn look(&self, sandbox: &Sandbox) -> io::Result<Manifest> {
        manifest::read(sandbox.root(), &sandbox.base(), self.store_folder.as_deref())
    }

    /// The files as they are before something is asked.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn files(&mut self, sandbox: &Sandbox) -> io::Result<&Files> {
        if self.seen.is_none() {
            self.seen = Some(self.look(sandbox)?);
        }
        Ok(&self.seen.get_or_insert_default().files)
    }

    /// The runner changed files.
    pub fn edited(&mut self) {
        self.seen = None;
    }

    /// The runner put something into the base that must stay as it is now.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn planted(&mut self, sandbox: &Sandbox, what: Option<String>) -> io::Result<()> {
        // The base may have been made for it.
        self.seen = None;
        if let Some(what) = what {
            self.planted.insert(what.clone(), base::content(&sandbox.base().join(&what))?);
        }
        Ok(())
    }

    /// Whether the runner damaged the store.
    pub fn is_harmed(&self) -> bool {
        !self.harms.is_none()
    }

    /// The runner damaged a file of the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn harmed(
        &mut self,
        (world, sandbox): (&World, &Sandbox),
        harmed: Harmed,
    ) -> io::Result<(BTreeSet<Object>, BTreeSet<ByteString>)> {
        self.harms.add(harmed);
        // The store was made anew, or what was in it is known no more.
        self.sizes_max = None;
        let mut lost = self.lost(sandbox, &world.objects())?;
        // What was never stored is no damage, and the end says what is wrong with that.
        let git = self.git(sandbox)?;
        let never = self.harms.lost(git.store(), &git, &lost)?;
        lost.retain(|one| !never.contains(one) || world.lost().contains(one));
        Ok((lost, harms::adrift(world, &sandbox.store())))
    }

    /// Which of these objects are not stored whole.
    fn lost(&self, sandbox: &Sandbox, objects: &BTreeSet<Object>) -> io::Result<BTreeSet<Object>> {
        let mut lost = self.harms.lost(&sandbox.store(), &*self.git(sandbox)?, objects)?;
        lost.extend(self.harms.lost_states(&sandbox.store()));
        Ok(lost)
    }

    /// Git, on a store in which it can read everything.
    fn git(&self, sandbox: &Sandbox) -> io::Result<Reading<'_>> {
        self.harms.reading(&self.git, sandbox, sandbox.understood())
    }

    /// Asks the subject, and observes what it did.
    ///
    /// # Errors
    /// The sandbox cannot be read.
    pub fn observe(
        &mut self,
        (world, sandbox): (&World, &Sandbox),
        request: &Request,
        allowed: &Allowed,
        ask: &mut dyn FnMut(&Request) -> Answer,
    ) -> io::Result<Observation> {
        // What is damaged may be mended by who only looks.
        let leaves_store = must_leave_store(request, allowed) && !self.harms.is_of_history();
        let outline = || manifest::outline(&sandbox.base());
        // Read only where it is compared: most requests may change the store.
        let before = leaves_store.then(outline).transpose()?;
        let bounded = self.is_bounded(world, request);
        if bounded && self.sizes_max.is_none() {
            self.sizes_max = Some(self.git(sandbox)?.contents(sandbox.has_store())?.alone);
        }
        let sweeps = matches!(allowed, Allowed::Sweep(_));
        let bytes = sweeps.then(|| base::bytes(&sandbox.base())).transpose()?;
        let answer = ask(request);
        let after = self.look(sandbox)?;
        let base_changes = match before {
            Some(before) => {
                let mut changes = manifest::changes(&before, &outline()?);
                changes.retain(|path| self.harms.is_none() || is_stored(path));
                Some(changes)
            }
            None => None,
        };
        let touched = self.seen.as_ref().map(|before| manifest::touched(before, &after));
        // Only what a restore left is judged by these.
        let restored = matches!(answer, Answer::Restored(_));
        let before = self.seen.as_ref().filter(|_| restored);
        let rewritten = before.map(|before| manifest::rewritten(before, &after));
        let names = before.map(|before| (before.names.clone(), after.names.clone()));
        let mut contents = self.contents((world, sandbox), request, &answer, bounded)?;
        if let (Some(contents), Some(before)) = (&mut contents, bytes) {
            contents.no_smaller = base::bytes(&sandbox.base())? >= before;
        }
        let clears = matches!(allowed, Allowed::Cleared(_) | Allowed::Sweep(_));
        let looks_at_base = clears || !self.planted.is_empty() || !world.strays().is_empty();
        let base =
            looks_at_base.then(|| base::look(world, &mut self.planted, sandbox)).transpose()?;
        let held = match (allowed, &answer) {
            (Allowed::Restore(due), Answer::Restored(said)) if self.layout => {
                self.held((world, sandbox), &due.project, &due.before.tree, said)?
            }
            _ => None,
        };
        let lost =
            (!world.lost().is_empty()).then(|| self.lost(sandbox, world.lost())).transpose()?;
        let files = after.files.clone();
        self.seen = Some(after);
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
            databases: Default::default(),
            measured: None,
        })
    }

    /// Whether a request leaves the store under a bound on the total size that a history can reach.
    fn is_bounded(&self, world: &World, request: &Request) -> bool {
        let bytes = world.size_bound(request);
        let judged = self.layout && world.has("settings.max_total_bytes");
        judged && (1..=BOUND_MET_MAX).contains(&bytes)
    }

    /// What the store holds after a request that keeps it within bounds.
    fn contents(
        &mut self,
        (world, sandbox): (&World, &Sandbox),
        request: &Request,
        answer: &Answer,
        bounded: bool,
    ) -> io::Result<Option<Contents>> {
        let swept = matches!(answer, Answer::Swept { outcome: SweepOutcome::Done, .. });
        let stored =
            matches!(answer, Answer::Taken { .. } | Answer::Protected(_) | Answer::Restored(_));
        let there = sandbox.has_store();
        let looks = swept && self.layout || stored && bounded && there;
        if !looks {
            // The known sizes are complete only if every request is observed.
            if !(bounded || request.only_looks()) {
                self.sizes_max = None;
            }
            return Ok(None);
        }
        let git = self.git(sandbox)?;
        let Found { visible, sizes, alone } = git.contents(there)?;
        let is_mended = git.is_mended();
        drop(git);
        let mut sizes_max = self.sizes_max.take().unwrap_or_default();
        for (id, size) in &sizes {
            // An object may be stored in another form now, and was perhaps in between: the largest
            // size is judged.
            let seen =
                sizes_max.entry(id.clone()).or_insert(alone.get(id).copied().unwrap_or_default());
            *seen = (*seen).max(*size);
        }
        let mut contents = Contents { visible, sizes, ..Contents::default() };
        if bounded {
            contents.needs = store::needs(world, request, answer);
            self.sizes_max = Some(sizes_max.clone());
            contents.sizes_max = sizes_max;
        }
        if swept {
            let projects = world.histories().map(|(project, _)| world.hash(project));
            contents.traces =
                projects.map(|hash| (hash.clone(), base::traces(sandbox, &hash))).collect();
            let found = there && !is_mended;
            let found = found.then(|| self.git.unreachable(&contents)).transpose()?;
            contents.unreachable = found;
        }
        Ok(Some(contents))
    }

    /// The content of the newest checkpoint before a restore, if it differs from what should have
    /// been captured. For one that may be damaged, the one before it holds that as well.
    fn held(
        &self,
        (world, sandbox): (&World, &Sandbox),
        project: &[u8],
        captured: &Tree,
        said: &Restored,
    ) -> io::Result<Option<Arc<Tree>>> {
        let mut newest: Vec<&String> = said.safety.iter().collect();
        for one in world.listed(project).iter().rev().take_while(|_| said.safety.is_none()) {
            newest.push(&one.id);
            if !world.is_damaged(one) {
                break;
            }
        }
        let git = self.git(sandbox)?;
        let due = git_objects::tree_id(captured).to_string();
        let trees: Vec<_> = newest.iter().map(|id| git.tree_of(id)).collect::<io::Result<_>>()?;
        if trees.contains(&Some(due)) {
            return Ok(None);
        }
        match trees.into_iter().next() {
            Some(Some(tree)) => Ok(Some(Arc::new(git.tree(&tree)?))),
            unreadable => Ok(unreadable.map(|_| Arc::default())),
        }
    }

    /// Observes all stored checkpoints, because something is wrong.
    ///
    /// # Errors
    /// Git is not there.
    pub fn look_closer(
        &mut self,
        (world, sandbox): (&World, &Sandbox),
        seen: &mut Observation,
    ) -> io::Result<()> {
        if self.layout && sandbox.has_store() {
            let project = seen.request.dir().and_then(|dir| world.canonical(dir));
            let captured = project.map(|project| world.capture(&project).tree);
            let git = self.git(sandbox)?;
            seen.histories = Some(store::histories(&git, world, captured, false)?);
        }
        Ok(())
    }

    /// Observes what is left at the end of a history; if `thorough`, git lists every checkpoint.
    ///
    /// # Errors
    /// Git or the store is not there.
    pub fn look_at_end(
        &mut self,
        world: &World,
        sandbox: &Sandbox,
        (hostile, thorough): (bool, bool),
    ) -> io::Result<End> {
        let (ran, hooked) = (sandbox.mark().exists(), sandbox.hooked().exists());
        let mut end = End { hostile, ran, hooked, ..End::default() };
        let stands = sandbox.store().exists();
        if self.layout && (stands || world.histories().next().is_some()) {
            let git = self.git(sandbox)?;
            let histories = store::histories(&git, world, None, thorough)?;
            if stands {
                end.layout = Some(store::layout(&git, world, git.is_mended())?);
            }
            end.histories = Some(histories);
        }
        Ok(end)
    }
}

/// Whether the request must leave no trace in the store.
fn must_leave_store(request: &Request, allowed: &Allowed) -> bool {
    let restore = request.restores();
    match allowed {
        Allowed::Refused(_) => restore || request.only_looks(),
        Allowed::Restore(due) => !due.may_refuse.is_empty(),
        Allowed::Checkpoint(due) => due.kind == CheckpointKind::Disabled,
        Allowed::Protected(due) => due.disabled,
        _ => request.only_looks(),
    }
}

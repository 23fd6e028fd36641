//! Injections at one call of a request: the process is killed, a call fails, or the power is lost.
//!
//! In this process, injections happen on the disk of the core ([`Injector`]); [`supervise`] injects into other
//! processes, and [`durable`] computes the state after a power loss. [`crate::history`] defines injections in
//! histories.

mod calls;
mod disk;
pub mod durable;
mod gate;
pub mod hold;
pub mod supervise;

pub use calls::Calls;
pub use disk::{Call, Hook, HookedDisk};
pub use gate::Gate;

use crate::history::{CallPosition, InjectedEvent};
use durable::Durable;
use herma_model::Answer;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An injection at a call of a request.
#[derive(Clone)]
pub struct Point {
    /// The call.
    pub call: CallPosition,
    /// The event.
    pub what: InjectedEvent,
    /// The gate at which a held call waits.
    pub gate: Arc<Gate>,
}

/// The outcome of a request with an injection.
#[derive(Debug)]
pub struct Injected {
    /// The answer; `None` if the process was ended.
    pub answer: Option<Answer>,
    /// Whether the injection happened: a request may make fewer calls.
    pub came: bool,
    /// The calls at which it could have happened, each with the kind of its file. If it happened at a
    /// call, that call is the last.
    pub calls: Vec<String>,
}

/// What a call makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncs {
    /// Nothing.
    Nothing,
    /// The file or folder of the call, and all names.
    Path,
    /// Everything.
    Everything,
}

/// The error of a write that was killed half-way: half of the bytes are written.
#[derive(Debug)]
struct Torn;

impl fmt::Display for Torn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the process was killed while it wrote")
    }
}

impl std::error::Error for Torn {}

/// Whether a write failed because the process was killed half-way through it.
pub fn is_torn(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Torn>())
}

/// Runs before every call to a disk, and does nothing until it is armed.
#[derive(Default)]
pub struct Injector {
    is_armed: AtomicBool,
    armed: Mutex<Option<Armed>>,
}

struct Armed {
    point: Point,
    /// The folder of the projects.
    projects: PathBuf,
    calls: Vec<String>,
    came: bool,
    /// Whether the process is dead: all further calls fail.
    is_dead: bool,
    /// The durable state, if the power is to be lost.
    durable: Option<Durable>,
}

impl Injector {
    /// Starts to count calls; the injection happens at its call. A power loss only affects files below the
    /// base and the folder of the projects.
    ///
    /// # Errors
    /// The durable state cannot be read.
    pub fn arm(&self, point: Point, base: &Path, projects: &Path) -> io::Result<()> {
        let is_power_loss = matches!(point.what, InjectedEvent::PowerLoss(_));
        let durable =
            is_power_loss.then(|| Durable::all(&[base.into(), projects.into()])).transpose()?;
        *self.armed() = Some(Armed {
            point,
            projects: projects.to_owned(),
            calls: Vec::new(),
            came: false,
            is_dead: false,
            durable,
        });
        self.is_armed.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Ends the injection after the request, with its answer; a power loss takes effect now. The returned
    /// answer is `None` if the process ended.
    ///
    /// # Errors
    /// The state after a power loss cannot be written.
    pub fn disarm(&self, answer: Answer) -> io::Result<Injected> {
        self.is_armed.store(false, Ordering::SeqCst);
        let Some(mut armed) = self.armed().take() else {
            return Ok(Injected { answer: Some(answer), came: false, calls: Vec::new() });
        };
        let Point { call, what: event, .. } = armed.point;
        let is_end = call == CallPosition::End && event.ends_process();
        armed.came |= is_end;
        if let (true, InjectedEvent::PowerLoss(left), Some(durable)) =
            (armed.came, event, &armed.durable)
        {
            durable.lose(left)?;
        }
        let is_answered = is_end || !(armed.came && event.ends_process());
        Ok(Injected { answer: is_answered.then_some(answer), came: armed.came, calls: armed.calls })
    }

    /// Runs before a call: may hold it, or make it fail.
    ///
    /// # Errors
    /// The call fails by the injection.
    pub fn before(&self, call: Call, path: &Path) -> io::Result<()> {
        if !self.is_armed() {
            return Ok(());
        }
        let gate = self.armed().as_mut().map_or(Ok(None), |armed| armed.before(call, path))?;
        // The lock on `armed` is not held while the call waits.
        gate.iter().for_each(|gate| gate.hold());
        Ok(())
    }

    /// Runs after a successful call.
    ///
    /// # Errors
    /// The durable state cannot be read.
    pub fn after(&self, path: &Path, syncs: Syncs) -> io::Result<()> {
        if syncs == Syncs::Nothing || !self.is_armed() {
            return Ok(());
        }
        let mut armed = self.armed();
        let durable = armed.as_mut().and_then(|armed| armed.durable.as_mut());
        match (durable, syncs) {
            (Some(durable), Syncs::Everything) => durable.sync_everything(),
            (Some(durable), _) => durable.sync(path),
            (None, _) => Ok(()),
        }
    }

    /// The injection of the current request, and whether it has happened.
    pub fn happens(&self) -> Option<(InjectedEvent, bool)> {
        self.armed().as_ref().map(|armed| (armed.point.what, armed.came))
    }

    /// Whether an injection may happen at the next call.
    pub fn is_armed(&self) -> bool {
        self.is_armed.load(Ordering::SeqCst)
    }

    /// Whether the injection ended the process.
    pub fn is_dead(&self) -> bool {
        self.armed().as_ref().is_some_and(|armed| armed.is_dead)
    }

    fn armed(&self) -> MutexGuard<'_, Option<Armed>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Armed {
    /// Decides about a call; returns the gate if the call is held.
    fn before(&mut self, call: Call, path: &Path) -> io::Result<Option<Arc<Gate>>> {
        let death_error = || Err(io::Error::other("the process is dead"));
        if self.is_dead {
            return death_error();
        }
        let event = self.point.what;
        // Edits meanwhile only show at a call in a project: at another call, the effect is the same as at the
        // next call in a project.
        let is_irrelevant = event == InjectedEvent::Hold && !path.starts_with(&self.projects);
        if is_irrelevant || !counts(event, call) {
            return Ok(None);
        }
        let happens_now = self.count(call, path);
        match event {
            InjectedEvent::Kill | InjectedEvent::PowerLoss(_) if happens_now => {
                self.is_dead = true;
                death_error()
            }
            InjectedEvent::Error | InjectedEvent::ReadError if happens_now => Err(Errno::IO.into()),
            InjectedEvent::NoSpace if happens_now => Err(Errno::NOSPC.into()),
            InjectedEvent::DiskFull if self.came => Err(Errno::NOSPC.into()),
            event if happens_now && event.waits() => Ok(Some(self.point.gate.clone())),
            // Also half-way through the call.
            InjectedEvent::Kill if writes(call) && self.count(call, path) => {
                self.is_dead = true;
                Err(io::Error::other(Torn))
            }
            _ => Ok(None),
        }
    }

    /// Counts a call; returns whether the injection happens at it.
    fn count(&mut self, call: Call, path: &Path) -> bool {
        if !self.came {
            self.calls.push(format!("{call:?} {}", kind_of(path)));
        }
        let happens_now =
            !self.came && self.point.call == CallPosition::Call(self.calls.len() as u64);
        self.came |= happens_now;
        happens_now
    }
}

/// The last two names of a path, with `#` for the parts that differ in each run.
pub(crate) fn kind_of(path: &Path) -> String {
    let names: Vec<_> = path.iter().rev().take(2).map(|name| name.to_string_lossy()).collect();
    let names = names.into_iter().rev().collect::<Vec<_>>().join("/");
    let is_digit = |character: char| character.is_ascii_digit() || matches!(character, 'a'..='f');
    let parts = names.split(|character: char| !character.is_ascii_alphanumeric());
    let variable = parts.filter(|part| part.len() > 1 && part.chars().all(is_digit));
    variable.fold(names.clone(), |kind, part| kind.replacen(part, "#", 1))
}

/// Whether the call writes bytes.
fn writes(call: Call) -> bool {
    matches!(call, Call::WriteNew | Call::Append)
}

/// Whether this injection can happen at the call.
fn counts(injection: InjectedEvent, call: Call) -> bool {
    let reads =
        matches!(call, Call::Stat | Call::List | Call::Read | Call::FreeBytes | Call::ReadLink);
    let needs_space = writes(call) || matches!(call, Call::MakeLink | Call::MakeDirectory);
    match injection {
        InjectedEvent::Kill
        | InjectedEvent::Error
        | InjectedEvent::PowerLoss(_)
        | InjectedEvent::Overlap
        | InjectedEvent::Together(_) => !reads,
        InjectedEvent::NoSpace | InjectedEvent::DiskFull => needs_space,
        InjectedEvent::ReadError => reads,
        InjectedEvent::ShortWrite => false,
        InjectedEvent::Hold => true,
    }
}

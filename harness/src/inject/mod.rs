//! Making something happen at one call of a request: the process is killed, a call fails, the power goes.
//!
//! In this process it happens on the disk that the core works on ([`Injector`]); what a power loss
//! leaves is [`durable`]'s. What a history says of it is in [`crate::history`].

mod calls;
mod disk;
pub mod durable;
mod gate;
pub mod hold;

pub use calls::Calls;
pub use disk::{Call, Hook, HookedDisk};
pub use gate::Gate;

use crate::history::{At, What};
use durable::Durable;
use herma_model::Answer;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is to happen at which call of one request.
#[derive(Clone)]
pub struct Point {
    /// The call.
    pub call: At,
    /// What happens.
    pub what: What,
    /// Where a call waits that is held.
    pub gate: Arc<Gate>,
}

/// What came of a request at one of whose calls something was to happen.
#[derive(Debug)]
pub struct Injected {
    /// What was answered; nothing where the process was ended.
    pub answer: Option<Answer>,
    /// Whether it happened: a request may make fewer calls.
    pub came: bool,
    /// The calls that it could have come at, up to its end: what each did to what sort of file. Where it
    /// came at one, that is the last.
    pub calls: Vec<String>,
}

/// What a call makes durable once it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncs {
    /// Nothing.
    Nothing,
    /// The file or folder that it is about, and all names.
    It,
    /// Everything.
    Everything,
}

/// Half of what was to be written is there: the process was killed meanwhile.
#[derive(Debug)]
struct Torn;

impl fmt::Display for Torn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the process was killed while it wrote")
    }
}

impl std::error::Error for Torn {}

/// Whether a write failed since the process was killed half-way through it.
pub fn is_torn(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Torn>())
}

/// Stands before every call to a disk, and lets it be until it is armed.
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
    /// Nothing more is done.
    is_dead: bool,
    /// Where the power is to go.
    durable: Option<Durable>,
}

impl Injector {
    /// From now on calls count, and the injection happens at its call. A power loss takes only what is
    /// below the base and the folder of the projects.
    ///
    /// # Errors
    /// What is durable there cannot be read.
    pub fn arm(&self, point: Point, base: &Path, projects: &Path) -> io::Result<()> {
        let loses = matches!(point.what, What::PowerLoss(_));
        let durable = loses.then(|| Durable::all(&[base.into(), projects.into()])).transpose()?;
        let (calls, projects) = (Vec::new(), projects.to_owned());
        *self.armed() =
            Some(Armed { point, projects, calls, came: false, is_dead: false, durable });
        self.is_armed.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// The request was answered or came to an end: the power goes now, if it is to. `answer` is nothing
    /// where the process ended.
    ///
    /// # Errors
    /// What a power loss leaves cannot be written.
    pub fn disarm(&self, answer: Answer) -> io::Result<Injected> {
        self.is_armed.store(false, Ordering::SeqCst);
        let Some(mut armed) = self.armed().take() else {
            return Ok(Injected { answer: Some(answer), came: false, calls: Vec::new() });
        };
        let Point { call, what, .. } = armed.point;
        let is_end = call == At::End && what.ends_process();
        armed.came |= is_end;
        if let (true, What::PowerLoss(left), Some(durable)) = (armed.came, what, &armed.durable) {
            durable.lose(left)?;
        }
        let is_answered = is_end || !(armed.came && what.ends_process());
        Ok(Injected { answer: is_answered.then_some(answer), came: armed.came, calls: armed.calls })
    }

    /// Decides about a call.
    ///
    /// # Errors
    /// It is not to be made.
    pub fn before(&self, call: Call, path: &Path) -> io::Result<()> {
        if !self.is_armed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let gate = self.armed().as_mut().map_or(Ok(None), |armed| armed.before(call, path))?;
        // Nobody else waits for what is armed meanwhile.
        gate.iter().for_each(|gate| gate.hold());
        Ok(())
    }

    /// A call was made.
    ///
    /// # Errors
    /// What it made durable cannot be read.
    pub fn after(&self, path: &Path, syncs: Syncs) -> io::Result<()> {
        if syncs == Syncs::Nothing || !self.is_armed.load(Ordering::SeqCst) {
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

    /// What is to happen during the request that is answered now, and whether it came.
    pub fn happens(&self) -> Option<(What, bool)> {
        self.armed().as_ref().map(|armed| (armed.point.what, armed.came))
    }

    /// Whether the process is to do nothing any more.
    pub fn is_dead(&self) -> bool {
        self.armed().as_ref().is_some_and(|armed| armed.is_dead)
    }

    fn armed(&self) -> MutexGuard<'_, Option<Armed>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Armed {
    /// Decides about a call; where it is held, at which gate.
    fn before(&mut self, call: Call, path: &Path) -> io::Result<Option<Arc<Gate>>> {
        let dead = || Err(io::Error::other("the process is dead"));
        if self.is_dead {
            return dead();
        }
        let what = self.point.what;
        // What is edited meanwhile shows in a project: at another call it is as at the next one there.
        let is_no_matter = what == What::Hold && !path.starts_with(&self.projects);
        if is_no_matter || !counts(what, call) {
            return Ok(None);
        }
        let is_now = self.is_at_next(call, path);
        match what {
            What::Kill | What::PowerLoss(_) if is_now => {
                self.is_dead = true;
                dead()
            }
            What::Error | What::ReadError if is_now => Err(Errno::IO.into()),
            What::NoSpace if is_now => Err(Errno::NOSPC.into()),
            What::DiskFull if self.came => Err(Errno::NOSPC.into()),
            what if is_now && what.waits() => Ok(Some(self.point.gate.clone())),
            // Half-way through, too.
            What::Kill if writes(call) && self.is_at_next(call, path) => {
                self.is_dead = true;
                Err(io::Error::other(Torn))
            }
            _ => Ok(None),
        }
    }

    /// Counts one more; returns whether the injection comes there.
    fn is_at_next(&mut self, call: Call, path: &Path) -> bool {
        if !self.came {
            self.calls.push(format!("{call:?} {}", sort_of(path)));
        }
        let is_now = !self.came && self.point.call == At::Call(self.calls.len() as u64);
        self.came |= is_now;
        is_now
    }
}

/// The last names of a path, without what is another one each time.
pub(crate) fn sort_of(path: &Path) -> String {
    let names: Vec<_> = path.iter().rev().take(2).map(|name| name.to_string_lossy()).collect();
    let names = names.into_iter().rev().collect::<Vec<_>>().join("/");
    let is_other = |one: char| one.is_ascii_digit() || matches!(one, 'a'..='f');
    let parts = names.split(|one: char| !one.is_ascii_alphanumeric());
    let others = parts.filter(|part| part.len() > 1 && part.chars().all(is_other));
    others.fold(names.clone(), |sort, part| sort.replacen(part, "#", 1))
}

/// Whether the call writes bytes.
fn writes(call: Call) -> bool {
    matches!(call, Call::WriteNew | Call::Append)
}

/// Whether the call is one that this can come at.
fn counts(what: What, call: Call) -> bool {
    let reads =
        matches!(call, Call::Stat | Call::List | Call::Read | Call::FreeBytes | Call::ReadLink);
    let needs_space = writes(call) || matches!(call, Call::MakeLink | Call::MakeDirectory);
    match what {
        What::Kill | What::Error | What::PowerLoss(_) | What::Overlap | What::Together(_) => !reads,
        What::NoSpace | What::DiskFull => needs_space,
        What::ReadError => reads,
        What::ShortWrite => false,
        What::Hold => true,
    }
}

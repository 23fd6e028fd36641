//! Supervises a command: records its calls below some folders that change something (or, on request, read), and
//! injects an event at one of these calls. Injections reach an adapter in this way.
//!
//! It works for any program and all processes that it starts, since Linux reports the calls (seccomp).

mod calls;
mod notify;
mod short;

use super::Calls;
use super::durable::Durable;
use super::hold::{Hold, power_went};
use crate::history::{InjectedEvent, PowerLoss};
use crate::processes;
use calls::{Call, Effect};
use notify::{Answer, Ended, Listener, PendingCall};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// With a single thread of each kind, programs make the same calls in the same order.
const DETERMINISTIC_ENVIRONMENT: [(&str, &str); 4] = [
    ("UV_THREADPOOL_SIZE", "1"),
    ("UV_USE_IO_URING", "0"),
    ("GOMAXPROCS", "1"),
    ("PYTHONHASHSEED", "0"),
];
/// How long to wait for a call before checking whether the command ended.
const POLL_MILLISECONDS: i32 = 5;
/// How long to wait for killed processes to end before searching for remaining ones.
const KILL_INTERVAL: Duration = Duration::from_millis(1);

/// A command, and what is injected into it.
pub struct SupervisedCommand {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Only calls below these folders count.
    pub below: Vec<PathBuf>,
    /// The file in which every call that counts is recorded.
    pub points: PathBuf,
    /// Which calls count.
    pub calls: Calls,
    /// The number of the call at which the event happens, from 1; `None` for the end.
    pub at: Option<u64>,
    /// What happens there.
    pub event: Option<InjectedEvent>,
}

/// Why the supervision ends before the command does.
enum Stopped {
    /// The injection killed all processes of the command.
    Killed,
    Failed(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Stopped::Failed(error)
    }
}

/// Runs the command, and returns how it ended. This process must do nothing else: it adopts the processes that
/// the command leaves behind, ignores SIGTERM from now on, and has to end after an injection that kills.
///
/// # Errors
/// The command cannot be started, or this system does not report calls.
pub fn supervise(supervised: &SupervisedCommand) -> io::Result<ExitStatus> {
    match run(supervised) {
        Ok(status) => Ok(status),
        Err(Stopped::Killed) => Ok(ExitStatus::from_raw(Signal::KILL.as_raw())),
        Err(Stopped::Failed(error)) => Err(error),
    }
}

fn run(supervised: &SupervisedCommand) -> Result<ExitStatus, Stopped> {
    let points = OpenOptions::new().append(true).create(true).open(&supervised.points)?;
    notify::survive_sigterm();
    // This process becomes the parent of processes whose parent is killed, so that it can wait for them.
    set_child_subreaper(Some(getpid())).map_err(io::Error::from)?;
    let power = supervised.event.and_then(|event| match event {
        InjectedEvent::PowerLoss(power) => Some(power),
        _ => None,
    });
    let durable = power.map(|_| Durable::all(&supervised.below)).transpose()?;
    let calls = supervised.calls;
    let mut supervision = Supervision { supervised, points, calls_seen: 0, durable };
    let (sender, receiver) = channel();
    let command = supervised.command.clone();
    // The thread that installs the filter is supervised, too; this thread must not be.
    let starting = thread::spawn(move || -> io::Result<Child> {
        let listener = Listener::install(calls)?;
        let _ = sender.send(listener);
        Command::new(&command[0]).args(&command[1..]).envs(DETERMINISTIC_ENVIRONMENT).spawn()
    });
    let Ok(listener) = receiver.recv() else {
        return Ok(started(starting).map(|_| ExitStatus::default())?);
    };
    while !starting.is_finished() {
        supervision.next(&listener)?;
    }
    let mut child = started(starting)?;
    let mut status = None;
    // The listener can still report a process that was not waited for.
    while !supervision.next(&listener)? {
        match status {
            None => status = child.try_wait()?,
            Some(_) => while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {},
        }
    }
    let status = status.map_or_else(|| child.wait(), Ok)?;
    // Without a given call the power is lost at the end; if a given call was never made, it is not lost.
    if let (Some(power), None) = (power, supervised.at) {
        supervision.lose_power(power)?;
    }
    Ok(status)
}

/// Kills all processes that were started, and waits for them.
fn kill_all() {
    loop {
        let started = descendants(getpid());
        for pid in &started {
            let _ = kill_process(*pid, Signal::KILL);
        }
        // Their children are now children of this process, which has to wait for them.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if started.is_empty() {
            return;
        }
        thread::sleep(KILL_INTERVAL);
    }
}

/// The descendants of a process.
fn descendants(ancestor: Pid) -> Vec<Pid> {
    let all = processes::all().into_iter().flatten();
    let parents: Vec<(i32, i32)> = all.map(|process| (process.id, process.parent)).collect();
    let mut found = vec![ancestor.as_raw_pid()];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| *child));
        at += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

fn started(starting: thread::JoinHandle<io::Result<Child>>) -> io::Result<Child> {
    starting.join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it died")))
}

struct Supervision<'a> {
    supervised: &'a SupervisedCommand,
    points: File,
    calls_seen: u64,
    /// What is durable, if a power loss is to be injected.
    durable: Option<Durable>,
}

impl Supervision<'_> {
    /// Answers the next call, if one comes soon; returns whether no more calls can come.
    fn next(&mut self, listener: &Listener) -> Result<bool, Stopped> {
        match listener.receive(POLL_MILLISECONDS) {
            Ok(Some(pending)) => {
                let answer = self.decide(&pending)?;
                listener.answer(&pending, &answer);
                Ok(false)
            }
            Ok(None) => Ok(false),
            Err(Ended) => Ok(true),
        }
    }

    fn decide(&mut self, pending: &PendingCall) -> Result<Answer, Stopped> {
        let Some(call) = Call::of(pending, self.supervised.calls) else { return Ok(Answer::GoOn) };
        let below =
            |path: &PathBuf| self.supervised.below.iter().any(|folder| path.starts_with(folder));
        let path = call.path(pending).filter(below);
        let mut answer = Answer::GoOn;
        if let Some(path) = &path {
            self.calls_seen += 1;
            let name = call.name.as_bytes();
            let line = [name, b"\t", path.as_os_str().as_bytes(), b"\n"].concat();
            self.points.write_all(&line)?;
            answer = self.inject(call, pending)?;
        }
        // A call that syncs everything has no path.
        if let Some(durable) = &mut self.durable {
            sync(durable, call, pending, path.is_some())?;
        }
        Ok(answer)
    }

    fn inject(&self, call: &Call, pending: &PendingCall) -> Result<Answer, Stopped> {
        let (Some(at), Some(event)) = (self.supervised.at, self.supervised.event) else {
            return Ok(Answer::GoOn);
        };
        let is_at = self.calls_seen == at;
        if is_at && event.waits() {
            Hold::beside(&self.supervised.points).hold()?;
        }
        if is_at && event.ends_process() {
            kill_all();
            if let InjectedEvent::PowerLoss(power) = event {
                self.lose_power(power)?;
            }
            return Err(Stopped::Killed);
        }
        let half = || short::half(pending).map_or(Answer::GoOn, Answer::Made);
        Ok(match event {
            InjectedEvent::Error | InjectedEvent::ReadError if is_at => Answer::Fail(libc::EIO),
            InjectedEvent::NoSpace if is_at && call.takes_space() => Answer::Fail(libc::ENOSPC),
            InjectedEvent::DiskFull if self.calls_seen >= at && call.takes_space() => {
                Answer::Fail(libc::ENOSPC)
            }
            InjectedEvent::ShortWrite if is_at => half(),
            _ => Answer::GoOn,
        })
    }

    fn lose_power(&self, power: PowerLoss) -> io::Result<()> {
        self.durable.as_ref().map_or(Ok(()), |durable| durable.lose(power))?;
        File::create(power_went(&self.supervised.points)).map(drop)
    }
}

/// The calls that sync a single file; the other syncing calls sync more.
const SYNC_A_FILE: [i64; 2] = [libc::SYS_fsync, libc::SYS_fdatasync];

/// Records what a call makes durable that is about to be made. `is_below` is whether its file is below
/// the supervised folders.
fn sync(
    durable: &mut Durable,
    call: &Call,
    pending: &PendingCall,
    is_below: bool,
) -> io::Result<()> {
    let argument = call.open_file().filter(|_| is_below);
    match (call.effect, argument) {
        (Effect::Syncs, _) if !SYNC_A_FILE.contains(&pending.number) => durable.sync_everything(),
        (Effect::Syncs, Some(argument)) => durable.sync(&pending.open_file(argument)),
        (Effect::Fills, Some(argument)) if syncs_every_write(pending, argument) => {
            durable.write_through(&pending.open_file(argument))
        }
        _ => Ok(()),
    }
}

/// Whether the file that is written to was opened so that every write is synced.
fn syncs_every_write(pending: &PendingCall, argument: usize) -> bool {
    let descriptor = pending.arguments[argument] as i32;
    let text = fs::read_to_string(pending.file(&format!("fdinfo/{descriptor}")));
    let text = text.unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_DSYNC != 0)
}

//! `supervised`: a command of whose every call below some folders that changes something (or, where
//! that is asked for, reads) is noted, and at one of which something happens. Injections come to an
//! adapter so.
//!
//! It works for any program and all that it starts, as Linux tells of the calls (seccomp).

mod calls;
mod notify;
mod short;

use crate::ending::{NO_VERDICT, fail};
use calls::{Call, Does};
use herma_harness::history::{Left, What};
use herma_harness::inject::Calls;
use herma_harness::inject::durable::Durable;
use herma_harness::inject::hold::{Hold, power_went};
use notify::{Answer, Ended, Listener, Waiting};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use std::ffi::OsString;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Programs make the same calls in the same order where they have one thread of each kind.
const STEADY: [(&str, &str); 4] = [
    ("UV_THREADPOOL_SIZE", "1"),
    ("UV_USE_IO_URING", "0"),
    ("GOMAXPROCS", "1"),
    ("PYTHONHASHSEED", "0"),
];
/// How long to wait for a call before looking whether the command ended.
const LOOK_MILLISECONDS: i32 = 5;
/// How long what was killed may take to end before it is looked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The arguments of `supervised`.
#[derive(clap::Args)]
pub struct SupervisedArguments {
    /// Only calls below these folders count
    #[arg(long, required = true)]
    below: Vec<PathBuf>,
    /// Where every call that counts is noted
    #[arg(long)]
    points: PathBuf,
    /// Which calls count: changing, reading, all
    #[arg(long, default_value = "changing")]
    calls: Calls,
    /// At which of them it happens, from 1; at the end by default
    #[arg(long, requires = "what")]
    at: Option<u64>,
    /// What happens there, as in a history
    #[arg(long)]
    what: Option<What>,
    /// The command
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs the command, and ends as it does.
pub fn run(arguments: &SupervisedArguments) -> ExitCode {
    match supervise(arguments) {
        Ok(status) => {
            let signal = status.signal().map(|signal| 128 + signal);
            let code = status.code().or(signal).and_then(|code| u8::try_from(code).ok());
            ExitCode::from(code.unwrap_or(NO_VERDICT))
        }
        Err(error) => {
            fail(&format!("the command cannot be supervised: {error}; nothing was run"), NO_VERDICT)
        }
    }
}

fn supervise(arguments: &SupervisedArguments) -> io::Result<ExitStatus> {
    let points = OpenOptions::new().append(true).create(true).open(&arguments.points)?;
    notify::outlive_a_request_to_end();
    // So that it can wait for what a process leaves behind that is killed.
    set_child_subreaper(Some(getpid()))?;
    let power = arguments.what.and_then(|what| match what {
        What::PowerLoss(power) => Some(power),
        _ => None,
    });
    let durable = power.map(|_| Durable::all(&arguments.below)).transpose()?;
    let calls = arguments.calls;
    let mut supervision = Supervision { arguments, points, seen: 0, durable };
    let (sender, receiver) = channel();
    let command = arguments.command.clone();
    // Whoever installs the filter is told of, too: this thread must not be.
    let starting = thread::spawn(move || -> io::Result<Child> {
        let listener = Listener::install(calls)?;
        let _ = sender.send(listener);
        Command::new(&command[0]).args(&command[1..]).envs(STEADY).spawn()
    });
    let Ok(listener) = receiver.recv() else {
        return started(starting).map(|_| ExitStatus::default());
    };
    while !starting.is_finished() {
        supervision.next(&listener)?;
    }
    let mut child = started(starting)?;
    let mut status = None;
    // A process that nobody waited for can still be heard of.
    while !supervision.next(&listener)? {
        match status {
            None => status = child.try_wait()?,
            Some(_) => while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {},
        }
    }
    let status = status.map_or_else(|| child.wait(), Ok)?;
    // The power goes at the end, and not where it was to go at a call that nobody made.
    if let (Some(power), None) = (power, arguments.at) {
        supervision.lose(power)?;
    }
    Ok(status)
}

/// Kills all that was started, and waits for it.
fn kill_all() {
    loop {
        let started = started_by(getpid());
        for pid in &started {
            let _ = kill_process(*pid, Signal::KILL);
        }
        // What those started is ours by now; nobody else waits for it.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if started.is_empty() {
            return;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Ends as if killed, too.
fn end_as_killed() -> ! {
    std::process::exit(128 + Signal::KILL.as_raw())
}

/// The processes that one started, and those that they started.
fn started_by(first: Pid) -> Vec<Pid> {
    let number = |entry: io::Result<DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let all: Vec<i32> = fs::read_dir("/proc").into_iter().flatten().filter_map(number).collect();
    // After the name, which may hold anything, come the state and the parent.
    let parent = |pid: &i32| -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let parents: Vec<(i32, i32)> =
        all.iter().filter_map(|pid| Some((*pid, parent(pid)?))).collect();
    let mut found = vec![first.as_raw_pid()];
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
    arguments: &'a SupervisedArguments,
    points: File,
    seen: u64,
    /// What is durable, where the power is to go.
    durable: Option<Durable>,
}

impl Supervision<'_> {
    /// Answers the next call, if one comes soon; returns whether none can come any more.
    fn next(&mut self, listener: &Listener) -> io::Result<bool> {
        match listener.receive(LOOK_MILLISECONDS) {
            Ok(Some(waiting)) => {
                let answer = self.decide(&waiting)?;
                listener.answer(&waiting, &answer);
                Ok(false)
            }
            Ok(None) => Ok(false),
            Err(Ended) => Ok(true),
        }
    }

    fn decide(&mut self, waiting: &Waiting) -> io::Result<Answer> {
        let Some(call) = Call::of(waiting, self.arguments.calls) else { return Ok(Answer::GoOn) };
        let below = |path: &PathBuf| self.arguments.below.iter().any(|one| path.starts_with(one));
        let path = call.path(waiting).filter(below);
        let mut answer = Answer::GoOn;
        if let Some(path) = &path {
            self.seen += 1;
            let name = call.name.as_bytes();
            let line = [name, b"\t", path.as_os_str().as_bytes(), b"\n"].concat();
            self.points.write_all(&line)?;
            answer = self.happens(call, waiting)?;
        }
        // What waits for everything is about no path.
        if let Some(durable) = &mut self.durable {
            sync(durable, call, waiting, path.is_some())?;
        }
        Ok(answer)
    }

    fn happens(&self, call: &Call, waiting: &Waiting) -> io::Result<Answer> {
        let (Some(at), Some(what)) = (self.arguments.at, self.arguments.what) else {
            return Ok(Answer::GoOn);
        };
        let is_at = self.seen == at;
        if is_at && what.waits() {
            Hold::beside(&self.arguments.points).hold()?;
        }
        if is_at && what.ends_process() {
            kill_all();
            if let What::PowerLoss(power) = what {
                self.lose(power)?;
            }
            end_as_killed();
        }
        let half = || short::half(waiting).map_or(Answer::GoOn, Answer::Made);
        Ok(match what {
            What::Error | What::ReadError if is_at => Answer::Fail(libc::EIO),
            What::NoSpace if is_at && call.takes_space() => Answer::Fail(libc::ENOSPC),
            What::DiskFull if self.seen >= at && call.takes_space() => Answer::Fail(libc::ENOSPC),
            What::ShortWrite if is_at => half(),
            _ => Answer::GoOn,
        })
    }

    fn lose(&self, power: Left) -> io::Result<()> {
        self.durable.as_ref().map_or(Ok(()), |durable| durable.lose(power))?;
        File::create(power_went(&self.arguments.points)).map(drop)
    }
}

/// The calls that sync one file; others sync more than that.
const SYNC_A_FILE: [i64; 2] = [libc::SYS_fsync, libc::SYS_fdatasync];

/// Takes in what the call makes durable that will now be made. `is_below` says whether it is about a
/// file that counts.
fn sync(durable: &mut Durable, call: &Call, waiting: &Waiting, is_below: bool) -> io::Result<()> {
    let argument = call.open_file().filter(|_| is_below);
    match (call.does, argument) {
        (Does::Syncs, _) if !SYNC_A_FILE.contains(&waiting.number) => durable.sync_everything(),
        (Does::Syncs, Some(argument)) => durable.sync(&waiting.open_file(argument)),
        (Does::Fills, Some(argument)) if is_through(waiting, argument) => {
            durable.write_through(&waiting.open_file(argument))
        }
        _ => Ok(()),
    }
}

/// Whether the file that is written to was opened so that every write is synced.
fn is_through(waiting: &Waiting, argument: usize) -> bool {
    let descriptor = waiting.arguments[argument] as i32;
    let said = fs::read_to_string(waiting.file(&format!("fdinfo/{descriptor}")));
    let said = said.unwrap_or_default();
    let flags = said.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_DSYNC != 0)
}

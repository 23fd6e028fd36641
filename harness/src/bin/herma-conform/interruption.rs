//! SIGTERM and Ctrl-C: what the command has started ends with it, and its temporary folders are removed.

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus};
use std::thread;

/// Until this is dropped, the signals end nothing by themselves.
pub struct Interruption(Vec<signal_hook::SigId>);

impl Interruption {
    /// Does `work` whenever a signal arrives.
    ///
    /// # Errors
    /// The signals cannot be received.
    pub fn received_by(work: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (mut arrived, sender) = UnixStream::pair()?;
        let mut interruption = Interruption(Vec::new());
        for signal in [SIGTERM, SIGINT] {
            interruption.0.push(pipe::register(signal, sender.try_clone()?)?);
        }
        thread::spawn(move || {
            while arrived.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
                work();
            }
        });
        Ok(interruption)
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|registered| {
            unregister(registered);
        });
    }
}

/// Waits for the process of a command. A signal ends that process, and not this one, which cleans up afterwards.
///
/// # Errors
/// The process cannot be started.
pub fn wait_for(command: &mut Command) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let process = Pid::from_child(&child);
    let _interruption = Interruption::received_by(move || {
        // It may have ended meanwhile.
        let _ = kill_process(process, Signal::TERM);
    })?;
    child.wait()
}

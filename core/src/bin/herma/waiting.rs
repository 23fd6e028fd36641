//! Shows on the terminal that a command is still working, and how far it is, once it has worked for a second.

use herma_core::FileProgress;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The time until the line appears, and between its changes.
const STEP: Duration = Duration::from_secs(1);

/// What is done at the moment, and how far it is: `reading`, until files of the project are written.
pub fn step(reading: &str, progress: &FileProgress) -> String {
    let files = match progress.files() {
        (_, 0) => String::new(),
        (done, total) => format!(", {done} of {total} files"),
    };
    let writing = "Restoring (Ctrl-C stops between two files)";
    format!("{}{files}", if progress.writes() { writing } else { reading })
}

/// Shows the line until it is dropped.
pub struct Waiting {
    /// Dropped first, which ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// Begins to wait for what `now` says, with the line on `output`.
    pub fn start(
        now: impl Fn() -> String + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Self {
        let (end, ended) = mpsc::channel();
        let started = Instant::now();
        // Without a thread no line appears.
        let thread = Builder::new().spawn(move || {
            let mut output = output;
            let mut is_shown = false;
            while ended.recv_timeout(STEP) == Err(RecvTimeoutError::Timeout) {
                let seconds = started.elapsed().as_secs();
                // There is nowhere to tell that a line could not be written.
                let _ =
                    write!(output, "\r\x1b[K{}, {seconds} s", now()).and_then(|()| output.flush());
                is_shown = true;
            }
            if is_shown {
                let _ = write!(output, "\r\x1b[K").and_then(|()| output.flush());
            }
        });
        Waiting { end: Some(end), thread: thread.ok() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_appears_after_a_second_and_goes_at_the_end() {
        let written = Written::default();
        let now = || step("Reading", &FileProgress::default());
        drop(Waiting::start(now, written.clone()));
        assert_eq!(*written.0.lock().unwrap(), b"");
        let waiting = Waiting::start(now, written.clone());
        std::thread::sleep(STEP + STEP / 2);
        drop(waiting);
        assert_eq!(*written.0.lock().unwrap(), b"\r\x1b[KReading, 1 s\r\x1b[K");
    }
}

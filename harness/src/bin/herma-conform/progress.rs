//! Progress of long work: a bar on a terminal, otherwise a line from time to time.

use herma_harness::parallel;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time between two lines if there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// Shows progress until it is dropped.
pub struct Progress {
    bar: ProgressBar,
    /// The thread that prints lines; it ends when the sender is dropped.
    reporter: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Progress of `length` steps, none of which is done.
    pub fn new(length: u64, label: &str) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = match is_terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        let template = "{msg} [{bar:40}] {pos}/{len}, {elapsed} of about {duration}";
        let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.set_message(label.to_owned());
        let reporter = (!is_terminal).then(|| start_reporter(bar.clone()));
        Progress { bar, reporter }
    }

    /// Starts again with `length` other steps, none of which is done.
    pub fn restart(&self, length: u64, label: &str) {
        self.bar.set_message(label.to_owned());
        self.bar.set_length(length);
        self.bar.set_position(0);
    }

    /// Does the work, and meanwhile prints from time to time what `messages` returns.
    pub fn run_with_messages<R>(
        &self,
        work: impl FnOnce() -> R,
        mut messages: impl FnMut() -> Vec<String> + Send,
    ) -> R {
        let (ended, receiver) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                repeat_until_dropped(&receiver, || {
                    messages().iter().for_each(|text| self.bar.suspend(|| eprintln!("{text}")));
                });
            });
            let result = work();
            drop(ended);
            result
        })
    }

    /// One more step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some((sender, reporter)) = self.reporter.take() {
            drop(sender);
            // The reporter has nothing left to print, even if it panicked.
            let _ = reporter.join();
        }
    }
}

/// Starts a thread that prints progress until the sender is dropped.
fn start_reporter(bar: ProgressBar) -> (Sender<()>, JoinHandle<()>) {
    let (sender, receiver) = channel::<()>();
    let started = Instant::now();
    let reporter = thread::spawn(move || {
        repeat_until_dropped(&receiver, || {
            let done = bar.position();
            let total = bar.length().unwrap_or_default();
            let label = bar.message();
            eprintln!("{label}: {done} of {total}, {} s", started.elapsed().as_secs());
        });
    });
    (sender, reporter)
}

/// Calls `act` after each interval until the sender is dropped.
fn repeat_until_dropped(receiver: &Receiver<()>, mut act: impl FnMut()) {
    while receiver.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        act();
    }
}

/// Like [`parallel::try_map`], and shows how many items are done.
pub fn try_map<T: Sync, R: Send, E: Send>(
    items: &[T],
    label: &str,
    jobs: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let progress = Progress::new(items.len() as u64, label);
    parallel::try_map(items.iter(), jobs, |item| {
        let result = work(item);
        progress.step();
        result
    })
}

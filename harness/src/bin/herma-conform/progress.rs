//! How far something is: a bar on a terminal, and a line from time to time elsewhere.

use herma_harness::parallel;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long nothing is said where there is no terminal.
const SILENCE: Duration = Duration::from_secs(10);

/// How far something is, until this is dropped.
pub struct Progress {
    bar: ProgressBar,
    /// Who says so in lines; it ends when the sender is gone.
    teller: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Of so many steps nothing is done yet.
    pub fn new(length: u64, what: &str) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = match is_terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        let template = "{msg} [{bar:40}] {pos}/{len}, {elapsed} of about {duration}";
        let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.set_message(what.to_owned());
        let teller = (!is_terminal).then(|| tell(bar.clone()));
        Progress { bar, teller }
    }

    /// From now on of other steps, of which nothing is done yet.
    pub fn turn_to(&self, length: u64, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.set_length(length);
        self.bar.set_position(0);
    }

    /// Does the work, and asks beside it from time to time what else is to be said.
    pub fn beside<R>(
        &self,
        work: impl FnOnce() -> R,
        mut asked: impl FnMut() -> Vec<String> + Send,
    ) -> R {
        let (ended, receiver) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                until_gone(&receiver, || {
                    asked().iter().for_each(|text| self.bar.suspend(|| eprintln!("{text}")));
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
        if let Some((sender, teller)) = self.teller.take() {
            drop(sender);
            // It has nothing more to say, whatever became of it.
            let _ = teller.join();
        }
    }
}

fn tell(bar: ProgressBar) -> (Sender<()>, JoinHandle<()>) {
    let (sender, receiver) = channel::<()>();
    let started = Instant::now();
    let teller = thread::spawn(move || {
        until_gone(&receiver, || {
            let (done, all) = (bar.position(), bar.length().unwrap_or_default());
            let what = bar.message();
            eprintln!("{what}: {done} of {all}, {} s", started.elapsed().as_secs());
        });
    });
    (sender, teller)
}

/// Acts after each silence until the sender is gone.
fn until_gone(receiver: &Receiver<()>, mut act: impl FnMut()) {
    while receiver.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
        act();
    }
}

/// As [`parallel::try_map`], and says how many of them are done.
pub fn try_map<T: Sync, R: Send, E: Send>(
    items: &[T],
    what: &str,
    jobs: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let progress = Progress::new(items.len() as u64, what);
    parallel::try_map(items.iter(), jobs, |item| {
        let result = work(item);
        progress.step();
        result
    })
}

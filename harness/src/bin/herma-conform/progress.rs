//! A progress bar on a terminal; nothing elsewhere.

use herma_harness::parallel;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar of `length` steps on the terminal's error stream, hidden elsewhere.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let template = "{msg} [{bar:40}] {pos}/{len}, {elapsed} of about {duration}";
    let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar.set_message(what.to_owned());
    bar
}

/// As [`parallel::try_map`], with a bar that says how many of them are done.
pub fn try_map<T: Sync, R: Send, E: Send>(
    items: &[T],
    what: &str,
    jobs: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let bar = bar(items.len() as u64, what);
    let results = parallel::try_map(items.iter(), jobs, |item| {
        let result = work(item);
        bar.inc(1);
        result
    });
    bar.finish_and_clear();
    results
}

//! `level`: the levels that results earn, reports to submit and to check, and the changes between two results.

use crate::ending::{BROKEN, NO_VERDICT, NoVerdict, USAGE, print_text};
use crate::hermetic::GITHUB;
use crate::reporting;
use herma_harness::levels::{ConformanceReport, badge};
use herma_harness::results::Results;
use herma_harness::results::delta::delta;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub const EXAMPLES: &str = "\
Examples:
  herma-conform level herma-failures/results.jsonl
  herma-conform level --submit docs/reports/mine-1.2.0.yaml --badge badge.svg results.jsonl
  herma-conform level --check docs/reports/*.yaml
  herma-conform level --delta before.jsonl after.jsonl";

pub const EXIT_CODES: &str = "\
Exit codes:
  0  the levels were printed; with --check: every report is right; with --delta: no rule is newly broken
  1  with --check: a report is wrong; with --delta: a rule is newly broken
  2  the command line or a file is wrong
  4  a run was cut short, or a file cannot be written";

/// The arguments of `level`.
#[derive(clap::Args)]
pub struct LevelArguments {
    /// The results.jsonl of all runs of one implementation; with --check: reports
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write a badge: an SVG image if the name ends in .svg, or else the JSON of a badge service
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Write a report to submit, as YAML
    #[arg(long, value_name = "FILE")]
    submit: Option<PathBuf>,
    /// The day of the runs, such as 2026-01-31; today by default
    #[arg(long)]
    date: Option<String>,
    /// Check reports instead
    #[arg(long, conflicts_with_all = ["badge", "submit", "date", "delta"])]
    check: bool,
    /// Print as Markdown what changed from the first results to the second
    #[arg(long, conflicts_with_all = ["badge", "submit", "date"])]
    delta: bool,
}

/// `herma-conform level`.
///
/// # Errors
/// A file cannot be read or written, or the results do not belong together.
pub fn level(arguments: &LevelArguments) -> Result<ExitCode, NoVerdict> {
    if arguments.check {
        return check(&arguments.files);
    }
    let read = |path: &PathBuf| reporting::results(path);
    let results = arguments.files.iter().map(read).collect::<Result<Vec<Results>, _>>()?;
    if arguments.delta {
        return print_delta(&results);
    }
    let today = || jiff::Zoned::now().date().to_string();
    let date = arguments.date.clone().unwrap_or_else(today);
    let wrong = |error: herma_harness::levels::ReportError| (error.to_string(), USAGE);
    let report = ConformanceReport::of(&results, &date).map_err(wrong)?;
    let subject = &report.subject;
    print_text(&format!("{} {}, rule book {}\n", subject.name, subject.version, report.rule_book));
    for tally in report.tallies().map_err(wrong)? {
        print_text(&tally.to_string());
    }
    if let Some(file) = &arguments.badge {
        let is_image = file.extension().is_some_and(|extension| extension == "svg");
        write(file, &if is_image { badge::svg(&report) } else { badge::endpoint(&report) })?;
    }
    if let Some(file) = &arguments.submit {
        report.check().map_err(wrong)?;
        write(file, &report.to_yaml())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(file: &Path, text: &str) -> Result<(), NoVerdict> {
    std::fs::write(file, text)
        .map_err(|error| (format!("{file:?} cannot be written: {error}"), NO_VERDICT))?;
    print_text(&format!("written: {}\n", file.display()));
    Ok(())
}

fn check(files: &[PathBuf]) -> Result<ExitCode, NoVerdict> {
    let mut is_right = true;
    for file in files {
        let text = std::fs::read_to_string(file)
            .map_err(|error| (format!("{file:?} cannot be read: {error}"), USAGE))?;
        let checked = ConformanceReport::from_yaml(&text).and_then(|report| {
            report.check()?;
            Ok(report)
        });
        let outcome = match checked {
            Err(error) => format!("wrong: {error}"),
            Ok(report) if !file.ends_with(report.file_name()) => {
                format!("wrong: the file must be called {}", report.file_name())
            }
            Ok(report) => format!("right: {}", report.levels.join(", ")),
        };
        is_right &= outcome.starts_with("right");
        print_text(&format!("{}: {outcome}\n", file.display()));
    }
    Ok(ExitCode::from(if is_right { 0 } else { BROKEN }))
}

fn print_delta(results: &[Results]) -> Result<ExitCode, NoVerdict> {
    let [old, new] = results else {
        return Err(("--delta compares two results: the old and the new".into(), USAGE));
    };
    let delta = delta(old, new);
    print_text(&delta.markdown());
    if std::env::var_os(GITHUB).is_some() {
        print_text(&delta.annotations());
    }
    Ok(ExitCode::from(if delta.broken.is_empty() { 0 } else { BROKEN }))
}

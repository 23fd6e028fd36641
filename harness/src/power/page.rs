//! What is known of the mutants of a package, as a page: how many are noticed, by what, and which
//! lines nothing pins.

use super::{Judged, Outcome, Records};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The page, in Markdown; `replay` is the command that makes it.
pub fn page(records: &Records, replay: &str) -> String {
    let header = &records.header;
    let (tried, noticed) = (records.judged.len(), records.noticed());
    let mut page = format!(
        "# What the suite pins of {} {}\n\n\
         Its checkpoint source, changed in one small way at a time, put through its gate: {} written \
         cases and {} histories of up to {} operations. A mutant is noticed if any verdict or \
         fingerprint differs from those of the package as it is.\n\n\
         {} mutants are there, {} on lines that the gate reaches. Of {tried} of these (seed {}), \
         **{noticed} are noticed: {}**.\n\n    {replay}\n\n",
        header.subject.name,
        header.subject.version,
        header.cases,
        header.seeds.len() as u64 * header.histories,
        header.operations,
        header.mutants,
        header.reached,
        header.seed,
        percent(noticed, tried),
    );
    table(&mut page, "changed", records, |one| one.mutant.kind.clone());
    by_what(&mut page, records);
    page.push_str(
        "## Changes that nothing notices\n\n| line | what stood there | instead |\n|---|---|---|\n",
    );
    let mut unnoticed: Vec<&Judged> =
        records.judged.values().filter(|one| one.outcome == Outcome::NotNoticed).collect();
    unnoticed.sort_by_key(|one| (&one.mutant.file, one.mutant.line, one.mutant.start));
    for Judged { mutant, .. } in unnoticed {
        let file = mutant.file.rsplit('/').next().unwrap_or_default();
        let (was, text) = (shown(&mutant.was), shown(&mutant.text));
        let _ = writeln!(page, "| {file}:{} | {was} | {text} |", mutant.line);
    }
    page
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.0}%", 100.0 * part as f64 / whole.max(1) as f64)
}

/// How many were noticed of each sort.
fn table(page: &mut String, what: &str, records: &Records, sort: impl Fn(&Judged) -> String) {
    let mut sorts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for one in records.judged.values() {
        let (noticed, all) = sorts.entry(sort(one)).or_default();
        *noticed += usize::from(one.outcome != Outcome::NotNoticed);
        *all += 1;
    }
    let _ = writeln!(page, "| {what} | noticed | of |\n|---|---|---|");
    for (sort, (noticed, all)) in sorts {
        let _ = writeln!(page, "| {sort} | {noticed} | {all} |");
    }
    page.push('\n');
}

/// By what they were noticed.
fn by_what(page: &mut String, records: &Records) {
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for one in records.judged.values() {
        let cause = match &one.outcome {
            Outcome::New { failure, .. } => format!("{} fails", failure.rule),
            Outcome::Gone { failure } => format!("{} fails no more", failure.rule),
            Outcome::NotJudged { rule } => format!("{rule} is not tested any more"),
            Outcome::NoVerdict { .. } => "no verdict is possible".to_owned(),
            Outcome::NotNoticed => continue,
        };
        *causes.entry(cause).or_default() += 1;
    }
    let _ = writeln!(page, "| noticed since | mutants |\n|---|---|");
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(cause, count)| (usize::MAX - count, cause.clone()));
    for (cause, count) in causes {
        let _ = writeln!(page, "| {cause} | {count} |");
    }
    page.push('\n');
}

/// Source text in a cell of a table.
fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = line.chars().take(CHARACTERS_MAX).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    if short.is_empty() {
        return "nothing".into();
    }
    format!("`{}`", short.replace('`', "'").replace('|', "\\|"))
}

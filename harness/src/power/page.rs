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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::{Fingerprint, Kind};
    use crate::power::{Header, Line, Mutant, PowerError, write};
    use crate::subject::Identity;

    fn header() -> Header {
        Header {
            suite: "0".into(),
            subject: Identity::new("toy", "1"),
            seed: 1,
            sample: 6,
            mutants: 9,
            reached: 7,
            seeds: vec![1, 2],
            histories: 10,
            operations: 5,
            cases: 3,
        }
    }

    fn judged(line: usize, outcome: Outcome) -> Judged {
        let mutant = Mutant {
            file: "a/b.py".into(),
            kind: "constant".into(),
            line,
            inside: true,
            start: line,
            end: line + 1,
            was: "a | `b`\n".repeat(12),
            text: String::new(),
        };
        Judged { mutant, outcome }
    }

    fn records() -> Records {
        let failure = || Fingerprint {
            rule: "restore/bytes".into(),
            verdict: Kind::Fail,
            symptom: "other bytes".into(),
        };
        let outcomes = [
            Outcome::New { failure: failure(), origin: "case a".into() },
            Outcome::Gone { failure: failure() },
            Outcome::NotJudged { rule: "list/order".into() },
            Outcome::NoVerdict { why: "it ended".into() },
            Outcome::NotNoticed,
        ];
        let mut records = Records::new(header());
        for (line, outcome) in outcomes.into_iter().enumerate() {
            let one = judged(line, outcome);
            assert!(!one.outcome.to_string().is_empty());
            records.judged.insert(one.mutant.id(), one);
        }
        records
    }

    #[test]
    fn a_page_counts_what_is_noticed_and_lists_what_is_not() {
        let page = page(&records(), "herma-conform power toy");
        for part in [
            "# What the suite pins of toy 1",
            "3 written cases and 20 histories of up to 5 operations",
            "9 mutants are there, 7 on lines that the gate reaches. Of 5 of these (seed 1), **4 are \
             noticed: 80%**",
            "    herma-conform power toy\n",
            "| constant | 4 | 5 |",
            "| restore/bytes fails | 1 |",
            "| restore/bytes fails no more | 1 |",
            "| list/order is not tested any more | 1 |",
            "| no verdict is possible | 1 |",
            "| b.py:4 | `a \\| 'b' a \\| 'b' ",
            "…` | nothing |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn a_run_goes_on_where_its_file_ends_and_takes_in_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/power.jsonl");
        assert_eq!(Records::read(&path).unwrap(), None);
        let mut all = records();
        let mut file = all.file(&path).unwrap();
        let one = judged(9, Outcome::NotNoticed);
        write(&mut file, &Line::Judged(Box::new(one.clone()))).unwrap();
        all.judged.insert(one.mutant.id(), one);
        // A run that was killed may leave half a line.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"judged\":{{\"mut")).unwrap();
        let read = Records::read(&path).unwrap().unwrap();
        assert_eq!(read, all);
        let mut whole = Records::new(header());
        whole.merge(read, ("one", "other")).unwrap();
        assert_eq!((whole.judged.len(), whole.noticed()), (6, 4));
        for (what, other) in [
            ("the suite", Header { suite: "1".into(), ..header() }),
            ("the subject", Header { subject: Identity::new("toy", "2"), ..header() }),
            ("the sample", Header { seed: 2, ..header() }),
            ("the gate", Header { cases: 4, ..header() }),
        ] {
            let refused = whole.merge(Records::new(other), ("one", "other"));
            assert!(matches!(refused, Err(PowerError::Different(_, _, found)) if found == what));
        }
        std::fs::write(&path, "{}\n").unwrap();
        assert!(matches!(Records::read(&path), Err(PowerError::File(..))));
    }
}

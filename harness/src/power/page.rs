//! The results of the mutants of a package as a page: how many are noticed, by which failures, and which
//! changes no check notices.

use super::{Judged, Outcome, Records};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The page in Markdown; `replay` is the command that generates it.
pub fn page(records: &Records, replay: &str) -> String {
    let header = &records.header;
    let tried = records.judged.len();
    let noticed = records.noticed();
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
    table(&mut page, "changed", records, |judged| judged.mutant.kind.clone());
    table_of_causes(&mut page, records);
    page.push_str(
        "## Changes that nothing notices\n\n| line | what stood there | instead |\n|---|---|---|\n",
    );
    let mut unnoticed: Vec<&Judged> =
        records.judged.values().filter(|judged| judged.outcome == Outcome::NotNoticed).collect();
    unnoticed.sort_by_key(|judged| (&judged.mutant.file, judged.mutant.line, judged.mutant.start));
    for Judged { mutant, .. } in unnoticed {
        let file = mutant.file.rsplit('/').next().unwrap_or_default();
        let was = cell(&mutant.was);
        let text = cell(&mutant.text);
        let _ = writeln!(page, "| {file}:{} | {was} | {text} |", mutant.line);
    }
    page
}

fn percent(part: usize, total: usize) -> String {
    format!("{:.0}%", 100.0 * part as f64 / total.max(1) as f64)
}

/// The number of noticed mutants of each sort; `heading` is the heading of the sorts.
fn table(page: &mut String, heading: &str, records: &Records, sort: impl Fn(&Judged) -> String) {
    let mut sorts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for judged in records.judged.values() {
        let (noticed, total) = sorts.entry(sort(judged)).or_default();
        *noticed += usize::from(judged.outcome != Outcome::NotNoticed);
        *total += 1;
    }
    let _ = writeln!(page, "| {heading} | noticed | of |\n|---|---|---|");
    for (sort, (noticed, total)) in sorts {
        let _ = writeln!(page, "| {sort} | {noticed} | {total} |");
    }
    page.push('\n');
}

/// The number of mutants for each reason why they were noticed.
fn table_of_causes(page: &mut String, records: &Records) {
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for judged in records.judged.values() {
        let cause = match &judged.outcome {
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

/// Source text as a cell of a table.
fn cell(text: &str) -> String {
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
    use crate::power::record::{Line, write};
    use crate::power::{Header, Mutant, PowerError};
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
            let judged = judged(line, outcome);
            assert!(!judged.outcome.to_string().is_empty());
            records.judged.insert(judged.mutant.id(), judged);
        }
        records
    }

    #[test]
    fn page_counts_noticed_mutants_and_lists_the_others() {
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
    fn records_are_read_back_from_their_file_and_merge_refuses_other_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/power.jsonl");
        assert_eq!(Records::read(&path).unwrap(), None);
        let mut records = records();
        let mut file = records.file(&path).unwrap();
        let judged = judged(9, Outcome::NotNoticed);
        write(&mut file, &Line::Judged(Box::new(judged.clone()))).unwrap();
        records.judged.insert(judged.mutant.id(), judged);
        // A killed run may leave an incomplete line.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"judged\":{{\"mut")).unwrap();
        let read = Records::read(&path).unwrap().unwrap();
        assert_eq!(read, records);
        let mut merged = Records::new(header());
        merged.merge(read, "one", "other").unwrap();
        assert_eq!((merged.judged.len(), merged.noticed()), (6, 4));
        for (difference, header) in [
            ("the suite", Header { suite: "1".into(), ..header() }),
            ("the subject", Header { subject: Identity::new("toy", "2"), ..header() }),
            ("the sample", Header { seed: 2, ..header() }),
            ("the gate", Header { cases: 4, ..header() }),
        ] {
            let refused = merged.merge(Records::new(header), "one", "other");
            assert!(
                matches!(refused, Err(PowerError::Different(_, _, found)) if found == difference)
            );
        }
        std::fs::write(&path, "{}\n").unwrap();
        assert!(matches!(Records::read(&path), Err(PowerError::File(..))));
    }
}

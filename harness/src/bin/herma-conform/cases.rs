//! The `case` commands: list, create and check written cases.

use crate::arguments::CaseCommand;
use crate::commands::load;
use crate::ending::{NoVerdict, SELF_CHECK, USAGE, no_verdict, print_text, scratch};
use crate::progress;
use crate::run_arguments::cores;
use crate::running;
use herma_harness::cases::{self, Case, check};
use herma_harness::history::History;
use herma_harness::planted;
use herma_model::rules::{self, RuleRef};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `herma-conform case`.
///
/// # Errors
/// A file is not a case or a history, or a run could not be made.
pub fn case(command: &CaseCommand) -> Result<ExitCode, NoVerdict> {
    match command {
        CaseCommand::List => list(),
        CaseCommand::New { id, rules, origin, from } => new(id, rules, origin, from),
        CaseCommand::Check { files } => check_all(files),
    }
}

fn list() -> Result<ExitCode, NoVerdict> {
    for case in running::cases(None)? {
        print_text(&format!("{:<76} tier {}  {}\n", case.id, case.tier, case.rules.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}

fn new(id: &str, ids: &[String], origin: &str, from: &Path) -> Result<ExitCode, NoVerdict> {
    let find = |id: &String| {
        rules::find(id)
            .ok_or_else(|| (format!("there is no rule `{id}`; nothing was written"), USAGE))
    };
    let rules: Vec<RuleRef> = ids.iter().map(find).collect::<Result<_, _>>()?;
    // A case uses the projects that the suite makes.
    let history = History { workspace: None, ..load(from)? };
    let bugs = planted::catalogue().filter(|bug| rules.contains(&bug.rule));
    let scratch = scratch(None);
    let mut case = Case {
        id: id.to_owned(),
        rules: ids.to_vec(),
        tier: cases::tier(rules.iter().copied()),
        needs: Vec::new(),
        origin: origin.to_owned(),
        kills: check::kills(&history, bugs, &scratch).map_err(no_verdict)?,
        settings: history.settings,
        plain_home: history.plain_home,
        operations: history.operations,
    };
    case.needs = cases::needs(&case, &scratch).map_err(no_verdict)?;
    print_text(&case.to_yaml());
    for fault in check::faults(&case, &scratch).map_err(no_verdict)? {
        eprintln!("not yet a valid case: {fault}");
    }
    Ok(ExitCode::SUCCESS)
}

fn check_all(files: &[PathBuf]) -> Result<ExitCode, NoVerdict> {
    let mut faults = Vec::new();
    let cases = if files.is_empty() { running::cases(None)? } else { read(files, &mut faults)? };
    faults.extend(faults_of(&cases)?);
    if files.is_empty() {
        faults.extend(check::gaps(&cases));
    }
    faults.iter().for_each(|fault| print_text(&format!("WRONG: {fault}\n")));
    print_text(&format!("{} cases, {} faults\n", cases.len(), faults.len()));
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(SELF_CHECK) })
}

/// Reads cases from files, which must be named after their ids.
fn read(files: &[PathBuf], faults: &mut Vec<String>) -> Result<Vec<Case>, NoVerdict> {
    let mut cases = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file)
            .map_err(|error| (format!("cannot read {file:?}: {error}"), USAGE))?;
        let case = Case::from_yaml(&text, file).map_err(|error| (error.to_string(), USAGE))?;
        if file.file_stem().and_then(|stem| stem.to_str()) != Some(&case.id) {
            faults.push(format!("{}: the id differs from the file name {file:?}", case.id));
        }
        cases.push(case);
    }
    Ok(cases)
}

/// What is wrong with each single case, in their order.
fn faults_of(cases: &[Case]) -> Result<Vec<String>, NoVerdict> {
    let scratch = scratch(None);
    let faults = |case: &Case| check::faults(case, &scratch);
    let found = progress::try_map(cases, "cases", cores(), faults).map_err(no_verdict)?;
    let named = |(case, faults): (&Case, Vec<String>)| {
        faults.into_iter().map(|fault| format!("{}: {fault}", case.id)).collect::<Vec<_>>()
    };
    Ok(cases.iter().zip(found).flat_map(named).collect())
}

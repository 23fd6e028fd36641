//! Inputs from which fuzzing starts: from the written cases, from the core's own answers, and for histories a
//! few byte strings.

use super::stored_tree::{MODES, NAMES};
use super::{Fixture, StartingState, project};
use crate::cases;
use crate::history::{Operation, Target};
use crate::protocol::message::{Envelope, Message};
use crate::protocol::translate;
use crate::subject::Subject;
use herma_model::commands::COMMANDS;
use herma_model::{Edit, Request};
use std::collections::{BTreeMap, BTreeSet};

/// The most seeds from the written cases.
const SEEDS_MAX: usize = 60;

fn operations() -> Vec<Operation> {
    let cases = cases::bundled().unwrap_or_default();
    cases.iter().flat_map(|case| case.history().operations).collect()
}

fn few(seeds: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let seeds: BTreeSet<Vec<u8>> = seeds.collect();
    let step = seeds.len().div_ceil(SEEDS_MAX).max(1);
    seeds.into_iter().step_by(step).collect()
}

/// The content of every file of that name that a case writes.
fn written(name: &str) -> Vec<Vec<u8>> {
    let contents = operations().into_iter().filter_map(|operation| match operation {
        Operation::Edit(Edit::Write { path, content, .. }) if path.ends_with(name.as_bytes()) => {
            Some(content.to_vec())
        }
        _ => None,
    });
    contents.collect()
}

pub fn commands() -> Vec<Vec<u8>> {
    few(COMMANDS.iter().map(|(command, _)| command.as_bytes().to_vec()))
}

pub fn configurations() -> Vec<Vec<u8>> {
    let every_kind = "checkpoints:\n  enabled: true # all\n  max_snapshots: 20\n  max_file_size_mb: 10\n\
                      other: [1, \"two\", {three: ~}]\n";
    few(written("config.yaml").into_iter().chain([every_kind.into()]))
}

pub fn ignore_files() -> Vec<Vec<u8>> {
    let contents = written("ignore").into_iter();
    few(contents.map(|content| [b"src/a.txt\n", &content[..]].concat()))
}

/// One request of each kind, as the cases make them.
pub fn requests() -> Vec<Request> {
    let mut requests: BTreeMap<&str, Request> = BTreeMap::new();
    for operation in operations() {
        if let Operation::Ask(request) = operation {
            let request = request.with_target(|target: Target| match target {
                Target::Text(text) => text,
                _ => "1".into(),
            });
            requests.entry(request.name()).or_insert(request);
        }
    }
    requests.into_values().collect()
}

pub fn request_lines() -> Vec<Vec<u8>> {
    let lines = requests().into_iter().map(|request| {
        let message = Message::Request(request);
        serde_json::to_vec(&Envelope { id: 1, message: &message }).unwrap_or_default()
    });
    lines.collect()
}

/// What the core answers to each kind of request about the project.
pub fn reply_lines(requests: &[Request], state: &StartingState) -> Vec<Vec<u8>> {
    let mut fixture = Fixture::new(state);
    let on_disk = ["before_tool", "set_state", "get_state", "external", "compensate", "accept"];
    let answered = requests.iter().filter(|request| !on_disk.contains(&request.name()));
    let replies = answered.map(|request| {
        let mut request = request.clone();
        if let Some(dir) = request.dir_mut() {
            *dir = project();
        }
        translate::reply(1, fixture.subject.ask(&request)).to_string().into_bytes()
    });
    few(replies)
}

pub fn rollback_lines(state: &StartingState) -> Vec<Vec<u8>> {
    let id = &state.ids[0];
    let lines =
        ["1", "2 --exact", "diff 1", "show 2", "1 'src/main.rs'", "1 -- a.txt", "--dir .", "@"];
    let lines = lines.iter().map(|line| line.as_bytes().to_vec());
    lines.chain([id.clone().into_bytes(), format!("{} a.txt", &id[..8]).into_bytes()]).collect()
}

/// Each name and each mode once, and a tree in a tree.
pub fn stored_trees() -> Vec<Vec<u8>> {
    let entries = (0..NAMES.len().max(MODES.len()) as u8).map(|index| {
        let name = index % NAMES.len() as u8;
        let mode = index % MODES.len() as u8;
        vec![1, 4, 0, index & 3, name, mode]
    });
    let nested = vec![1, 4, 0, 0x82, 13, 3, 1, 5, 1];
    entries.chain([nested]).collect()
}

/// Byte strings of several lengths that differ in every group.
pub fn bytes_of_histories(bytes_max: usize) -> Vec<Vec<u8>> {
    let lengths = [12, 24, 48, 96, bytes_max];
    let strings = lengths.iter().zip(1_u8..).map(|(length, factor)| {
        let bytes = (0..*length).map(|at| (at as u8).wrapping_mul(31).wrapping_add(factor));
        bytes.collect()
    });
    strings.collect()
}

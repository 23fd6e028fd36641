//! Concurrent sessions whose agents share a state: no executed line is lost, a rollback restores the state
//! of a single checkpoint without mixing in others, and no session waits forever.
//!
//! `HERMA_SESSION_ROUNDS` is the number of rounds of each test.

use crate::command::world::{CommandFixture, CommandOutput};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const LABELS: [&str; 3] = ["L1", "L2", "L3"];

fn rounds() -> usize {
    let rounds = std::env::var("HERMA_SESSION_ROUNDS").ok();
    rounds.map_or(2, |rounds| rounds.parse().expect("HERMA_SESSION_ROUNDS is a number"))
}

fn agent_folder(world: &CommandFixture) -> PathBuf {
    world.root.join("hermes/agent")
}

fn part(world: &CommandFixture, name: &str) -> Value {
    let text = fs::read(agent_folder(world).join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

/// The command that runs a session with these lines in a project.
fn session(world: &CommandFixture, project: &str, lines: &str) -> Command {
    let directory = world.home().join(project);
    fs::create_dir_all(&directory).unwrap();
    let count = fs::read_dir(&world.root).unwrap().count();
    let script = world.root.join(format!("script-{count}"));
    fs::write(&script, lines).unwrap();
    let mut command = world.command();
    command.arg("session").arg("--script").arg(script).arg("--dir").arg(directory);
    command
}

/// Runs sessions at the same time, and returns their output.
fn run_concurrently(sessions: Vec<Command>) -> Vec<CommandOutput> {
    let begun = sessions.into_iter().map(|mut session| {
        session.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let begun: Vec<_> = begun.collect();
    let said = |child: std::process::Child| {
        CommandOutput::new("session".to_owned(), child.wait_with_output().unwrap())
    };
    begun.into_iter().map(said).collect()
}

// rule: agent/all-or-none
#[test]
fn a_rollback_of_several_projects_at_once_restores_the_state_of_one_checkpoint() {
    let mut wrong = Vec::new();
    for round in 0..rounds() {
        let world = CommandFixture::new();
        world.configure("checkpoints:\n  enabled: true\n");
        for label in LABELS {
            let set = format!("goal {label}\ncard card doing {label}\nremember {label}\n");
            run_concurrently(vec![session(&world, "p1", &set)]).remove(0).done();
            for project in ["p1", "p2", "p3"] {
                let lines = format!("write_file a.txt {label}\n/checkpoint {label}\n");
                run_concurrently(vec![session(&world, project, &lines)]).remove(0).done();
            }
        }
        let set = "goal now\ncard card done now\nremember now\n";
        run_concurrently(vec![session(&world, "p1", set)]).remove(0).done();
        let rollback = |(project, label)| session(&world, project, &format!("/rollback {label}\n"));
        let said =
            run_concurrently(["p1", "p2", "p3"].into_iter().zip(LABELS).map(rollback).collect());
        let refused = said.iter().filter(|said| said.exit != Some(0));
        wrong.extend(refused.map(|said| format!("{round}: {}", said.text())));
        let title = part(&world, "kanban")["cards"][0]["title"].clone();
        let goal = part(&world, "goal")["active"].clone();
        let memory = part(&world, "memory")["entries"].as_array().unwrap().last().unwrap().clone();
        let found = [&title, &goal, &memory["text"]];
        if !LABELS.iter().any(|label| found.iter().all(|value| *value == label)) {
            wrong.push(format!("{round}: mixed: {found:?}"));
        }
        for (project, label) in ["p1", "p2", "p3"].into_iter().zip(LABELS) {
            let file = fs::read_to_string(world.home().join(project).join("a.txt")).unwrap();
            if file.trim() != label {
                wrong.push(format!("{round}: {project} is at {file:?} and not at {label}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// rule: agent/all-or-none
#[test]
fn a_card_line_of_several_sessions_at_once_loses_no_card_and_remember_gives_no_id_twice() {
    let mut wrong = Vec::new();
    for round in 0..rounds() {
        let world = CommandFixture::new();
        let lines = |name: usize| {
            let line = |card| format!("card c{name}-{card} todo x\nremember m{name}-{card}\n");
            (0..15).map(line).collect::<String>()
        };
        let command = |name| session(&world, &format!("p{name}"), &lines(name));
        let said = run_concurrently((0..4).map(command).collect());
        let refused = said.iter().filter(|said| said.exit != Some(0));
        wrong.extend(refused.map(|said| format!("{round}: {}", said.text())));
        for (part, list) in [(part(&world, "kanban"), "cards"), (part(&world, "memory"), "entries")]
        {
            let ids = ids(&part[list]);
            let distinct: BTreeSet<&String> = ids.iter().collect();
            if (ids.len(), distinct.len()) != (60, 60) {
                wrong.push(format!("{round}: {} {list}, {} ids", ids.len(), distinct.len()));
            }
        }
        let left: Vec<_> = fs::read_dir(agent_folder(&world)).unwrap().collect();
        let left = left.into_iter().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<String> = left.filter(|name| name.starts_with('.')).collect();
        assert_eq!(left, Vec::<String>::new());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// rule: agent/parts
#[test]
fn a_card_line_is_refused_where_a_fifo_or_socket_is_in_the_place_of_kanban_json() {
    for kind in ["fifo", "socket"] {
        let world = CommandFixture::new();
        fs::create_dir_all(agent_folder(&world)).unwrap();
        let path = agent_folder(&world).join("kanban.json");
        let _listener = match kind {
            "fifo" => {
                assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
                None
            }
            _ => Some(std::os::unix::net::UnixListener::bind(&path).unwrap()),
        };
        let mut session = session(&world, "p1", "card c1 todo x\ngoal Ship it\n");
        let mut session = session.stdout(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while session.try_wait().unwrap().is_none() {
            if begun.elapsed() > Duration::from_secs(20) {
                session.kill().unwrap();
                panic!("the line waits for a {kind}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        let said =
            CommandOutput::new("session".to_owned(), session.wait_with_output().unwrap()).text();
        assert!(said.contains("kanban.json is not a regular file"), "{said}");
        assert!(said.contains("the goal is: Ship it"), "{said}");
    }
}

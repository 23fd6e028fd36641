//! What evicting costs: times checkpoints that drop an older one and checkpoints that drop none,
//! on equal stores.
//!
//! Both stores hold 20 projects with 15 checkpoints each. After a change of one file a checkpoint
//! is timed on each store, in alternating order, so that other load on the machine affects both.
//! Started as `eviction [CHECKPOINTS]`; the stores are below the temporary folder.

use herma_core::disk::SystemDisk;
use herma_core::{Config, Environment, Manager, Outcome, SystemClock};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PROJECTS: usize = 20;
const FILES: usize = 200;
const FOLDERS: usize = 8;
const CHECKPOINTS: usize = 15;
/// No run takes as many checkpoints.
const NO_LIMIT: usize = 10_000;
const TAKES: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let takes = std::env::args().nth(1).map_or(Ok(TAKES), |takes| takes.parse())?;
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let stores = [manager(&root, "evicting", CHECKPOINTS), manager(&root, "keeping", NO_LIMIT)];
    let projects: Vec<PathBuf> =
        (0..PROJECTS).map(|number| root.join(format!("work/{number}"))).collect();
    for project in &projects {
        for file in 0..FILES {
            write(project, file, 0)?;
        }
    }
    for step in 1..=CHECKPOINTS {
        for project in &projects {
            write(project, 0, step)?;
            for store in &stores {
                take(store, project)?;
            }
        }
    }
    let mut durations = [Vec::new(), Vec::new()];
    for number in 0..takes {
        let project = &projects[number % PROJECTS];
        write(project, number % FILES, CHECKPOINTS + 1 + number)?;
        for turn in 0..stores.len() {
            let which = (number + turn) % stores.len();
            durations[which].push(take(&stores[which], project)?);
        }
    }
    print(&mut durations);
    Ok(())
}

fn manager(root: &Path, name: &str, max_snapshots: usize) -> Manager {
    let environment = Environment {
        home: root.join("home"),
        current_directory: root.to_owned(),
        base: root.join(name),
    };
    let config = Config { max_snapshots, ..Config::default() };
    Manager::new(Arc::new(SystemDisk), Arc::new(SystemClock), environment, config)
}

/// Writes a file as it is at a step: about 2 KiB that no other file has at any step.
fn write(project: &Path, file: usize, step: usize) -> std::io::Result<()> {
    let folder = project.join(format!("folder-{}", file % FOLDERS));
    fs::create_dir_all(&folder)?;
    let line = format!("{} file {file} step {step}\n", project.display());
    fs::write(folder.join(format!("{file}.txt")), line.repeat(2_048 / line.len()))
}

/// How long a checkpoint takes, which must really be taken.
fn take(store: &Manager, project: &Path) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    let taken = store.checkpoint(project, "measured")?;
    let duration = started.elapsed();
    match taken.outcome {
        Outcome::Created { .. } => Ok(duration),
        other => Err(format!("no checkpoint was taken: {other:?}").into()),
    }
}

fn print(durations: &mut [Vec<Duration>; 2]) {
    println!(
        "{:10} {:>6} {:>10} {:>10} {:>10}",
        "store", "number", "median ms", "mean ms", "max ms"
    );
    let [evicting, keeping] = durations.each_mut().map(|durations| figures(durations));
    for (name, figures) in [("evicting", evicting), ("keeping", keeping)] {
        let [median, mean, max] = figures;
        println!("{name:10} {:>6} {median:>10.2} {mean:>10.2} {max:>10.2}", durations[0].len());
    }
    let ratios = [0, 1, 2].map(|which| evicting[which] / keeping[which]);
    println!("{:17} {:>10.2} {:>10.2} {:>10.2}", "ratio", ratios[0], ratios[1], ratios[2]);
}

/// Median, mean and maximum in milliseconds.
fn figures(durations: &mut [Duration]) -> [f64; 3] {
    durations.sort_unstable();
    let milliseconds = |duration: Duration| duration.as_secs_f64() * 1_000.0;
    let total: Duration = durations.iter().sum();
    let median = durations.get(durations.len() / 2).copied().unwrap_or_default();
    let max = durations.last().copied().unwrap_or_default();
    [milliseconds(median), milliseconds(total) / durations.len() as f64, milliseconds(max)]
}

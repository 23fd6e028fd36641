//! The cost of an operation is judged by its growth, and only where growth is meaningful.

use super::*;
use crate::observation::Measured;
use crate::rules;
use pretty_assertions::assert_eq;

const MIB: u64 = 1 << 20;

fn scene(max_file_bytes: u64) -> Scene {
    let mut scene = Scene::with("a=1");
    scene.world.settings.max_file_bytes = max_file_bytes;
    scene
}

fn resize(scene: &mut Scene, mebibytes: u64) {
    let content = ByteString::from(vec![0; (mebibytes * MIB) as usize]);
    let write = Edit::Write { path: "work/alpha/a".into(), content, executable: false };
    scene.world.edit(&write);
}

/// Performs a request correctly with these MiB of memory and of reading, and learns it. Returns the
/// rules that it breaks, and how often both were checked.
fn measured(scene: &mut Scene, request: &str, memory: u64, read: u64) -> (String, [u64; 2]) {
    let measured = Some(Measured { memory: memory * MIB, bytes_read: read * MIB });
    let observation = Observation { measured, ..scene.correct_observation(request) };
    let checks = scene.checks(&observation);
    let count = |rule: rules::RuleRef| checks.counts.get(rule.id).copied().unwrap_or_default();
    let counts = [count(&rules::COST_MEMORY), count(&rules::COST_UNCHANGED)];
    scene.learn(&observation);
    (broken_rules(checks), counts)
}

/// Takes checkpoints of files of these sizes with this memory, both in MiB. Returns the rules that
/// the last checkpoint breaks, and how often memory was checked.
fn broken_by_memory(figures: [(u64, u64); 3], max_file_bytes: u64) -> (String, u64) {
    let mut scene = scene(max_file_bytes);
    let results = figures.map(|(size, memory)| {
        resize(&mut scene, size);
        measured(&mut scene, "take alpha", memory, 0)
    });
    let [.., (broken, [checks, _])] = results;
    (broken, checks)
}

#[test]
fn cost_memory_is_broken_if_memory_grows_in_two_large_steps_by_over_half_of_each() {
    for (figures, max_file_bytes, broken, checks) in [
        ([(0, 9), (40, 30), (80, 51)], 0, "cost/memory", 1),
        ([(80, 51), (0, 9), (40, 30)], 0, "cost/memory", 1),
        // A buffer that is filled once.
        ([(0, 9), (40, 49), (80, 69)], 0, "", 1),
        ([(0, 90), (40, 110), (80, 150)], 0, "", 1),
        // Small steps, and a file that is left out.
        ([(0, 9), (39, 60), (80, 120)], 0, "", 0),
        ([(0, 9), (40, 60), (80, 120)], 50 * MIB, "", 0),
    ] {
        let found = broken_by_memory(figures, max_file_bytes);
        assert_eq!(found, (broken.to_owned(), checks), "{figures:?}");
    }
}

#[test]
fn cost_memory_compares_successful_runs_of_the_same_operation_only() {
    let mut scene = scene(0);
    for (size, memory) in [(0, 9), (40, 60)] {
        resize(&mut scene, size);
        measured(&mut scene, "take alpha", memory, 0);
    }
    resize(&mut scene, 80);
    assert_eq!(measured(&mut scene, "list alpha", 120, 0), (String::new(), [0, 0]));
    let refused = scene.observation("take alpha", refused(Code::Io));
    let measured = Some(Measured { memory: 120 * MIB, bytes_read: 0 });
    let checks = scene.checks(&Observation { measured, ..refused });
    assert_eq!(checks.counts.get(rules::COST_MEMORY.id), None);
}

#[test]
fn cost_unchanged_is_broken_if_reading_grows_with_the_files() {
    for (read, broken) in [(2, ""), (3, "cost/unchanged")] {
        let mut scene = scene(0);
        for size in [0, 4] {
            resize(&mut scene, size);
            // A change is read, and the next checkpoint still finds times that are too recent.
            assert_eq!(measured(&mut scene, "take alpha", 0, 9), (String::new(), [0, 0]));
            let (found, [_, checks]) = measured(&mut scene, "take alpha", 0, read * size / 4);
            let is_second = size == 4;
            assert_eq!(checks, u64::from(is_second));
            assert_eq!(found, if is_second { broken } else { "" });
        }
    }
}

#[test]
fn cost_unchanged_does_not_judge_files_with_recent_times() {
    let mut scene = scene(0);
    for size in [0, 4] {
        resize(&mut scene, size);
        scene.perform("take alpha");
        assert_eq!(measured(&mut scene, "take alpha", 0, size), (String::new(), [0, 0]));
    }
    scene.perform("restore alpha 1");
    assert_eq!(measured(&mut scene, "take alpha", 0, 4).1, [0, 0]);
}

//! The report of a restore must agree with the files.

use super::restored::{left, without_report};
use super::*;
use pretty_assertions::assert_eq;

/// Sets the paths that a restore reports: `+` starts a restored path, `-` a removed, `=` a left,
/// `~` a kept and `!` a failed path.
pub(super) fn set_report(words: &str, report: &mut Restored) {
    *report = Restored {
        restored: vec![],
        removed: vec![],
        left: vec![],
        kept: vec![],
        failed: vec![],
        ..report.clone()
    };
    for word in words.split_whitespace() {
        let path = ByteString::from(&word[1..]);
        match &word[..1] {
            "+" => report.restored.push(path),
            "-" => report.removed.push(path),
            "=" => report.left.push(path),
            "~" => report.kept.push(remark(path)),
            _ => report.failed.push(remark(path)),
        }
    }
}

#[test]
fn restore_report_agrees_with_the_files() {
    let full = "restore alpha 1";
    let exact = "restore alpha 1 exact";
    let plain = ("a=1", "a=2 n=1", "a=1 n=1");
    let ignored = (".gitignore=x", ".gitignore= x=1", ".gitignore=x x=1");
    let uncaptured = ("a=1 b=1", ".gitignore=a a=1 b=2", ".gitignore=a a=1 b=1");
    let forced = "restore alpha 1 exact force";
    for (request, (taken, now, after), report, rules) in [
        (full, plain, "+a =n", ""),
        (full, plain, "=n", "restore/honest"),
        (full, plain, "+a +n =n", "restore/honest"),
        (full, plain, "+a =n !a", "restore/honest"),
        (full, plain, "+a =n -x", "restore/honest"),
        (full, plain, "+a", "restore/leaves-new"),
        (full, plain, "+a =n =a", "restore/leaves-new"),
        (full, plain, "+a =n ~a", "restore/protects"),
        ("file alpha 1 a", plain, "+a", ""),
        (full, ("a=1", "a!", "a!"), "~a", ""),
        (full, ("a=1", "a!", "a!"), "", "restore/protects"),
        (full, ("d/a=1", "d!", "d!"), "~d/a", ""),
        (full, ("d=1", "d/a=2 d/.env=", "d/a=2 d/.env="), "~d =d/a", ""),
        (full, uncaptured, "+b =.gitignore", ""),
        (full, uncaptured, "+b =.gitignore ~a", ""),
        (full, uncaptured, "+b =.gitignore ~b", "restore/protects"),
        (full, ("a=1 b=1", "a=1 b=2", "a=1 b=1"), "+b ~a", "restore/protects"),
        (full, ignored, "+.gitignore =x", ""),
        (exact, ignored, "+.gitignore ~x", ""),
        (exact, ignored, "+.gitignore", "restore/protects"),
        (exact, ("a=1", "a=2 n=1", "a=1"), "+a -n", ""),
        (exact, ("a=1", "a=2 n=1", "a=1"), "+a", "restore/honest"),
        (forced, plain, "+a =n", ""),
        (full, ("d=1", "d/a=2", "d=1"), "+d -d/a", ""),
        (full, ("d/a=1", "d=2", "d/a=1"), "+d/a -d", ""),
    ] {
        let mut scene = Scene::changed(taken, now);
        if request == forced {
            scene.world.settings.max_files = 0;
        }
        let mut observation = left(&scene, request, after);
        let Answer::Restored(restored) = &mut observation.answer else { panic!("{request}") };
        set_report(report, restored);
        assert_eq!(scene.broken_rules(&observation), rules, "{request} {now} {after}: {report}");
        let mut unreported = without_report(taken, now);
        unreported.world.settings.max_files = scene.world.settings.max_files;
        assert_eq!(unreported.broken_rules(&observation), "", "{request} {now} {after}: {report}");
    }
    // A path that the restore missed was not kept.
    let mut missed = left(&Scene::changed("a=1", "a=2"), full, "a=2");
    let Answer::Restored(restored) = &mut missed.answer else { panic!("no restore") };
    set_report("", restored);
    assert_eq!(Scene::changed("a=1", "a=2").broken_rules(&missed), "restore/bytes");
}

#[test]
fn restore_reports_the_pre_restore_checkpoint_and_undoes_turn_correctly() {
    let full = "restore alpha 1";
    let undoes = "restore/undoes-turn";
    let corruptions: [(_, _, Corruption<Restored>, _); 5] = [
        (full, "a=2", &|report| report.safety = None, "restore/safety-checkpoint"),
        (full, "a=1", &|report| report.safety = Some(checkpoint_id(9)), "restore/safety-skipped"),
        (full, "a=2", &|report| report.forced_past = true, "restore/safety-required"),
        (full, "a=2", &|report| report.undoes_turn = false, undoes),
        ("file alpha 1 a", "a=2", &|report| report.undoes_turn = true, undoes),
    ];
    for (request, now, corrupt, rules) in corruptions {
        for lacks in ["", "restore.undoes_turn"] {
            let mut scene = Scene::without(lacks, "a=1");
            scene.perform("take alpha");
            scene.replace_files(now);
            let mut observation = scene.correct_observation(request);
            let Answer::Restored(report) = &mut observation.answer else { panic!("{request}") };
            corrupt(report);
            let is_judged = lacks.is_empty() || rules != undoes;
            assert_eq!(
                scene.broken_rules(&observation),
                if is_judged { rules } else { "" },
                "{request} {lacks}"
            );
        }
    }
}

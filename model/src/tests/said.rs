//! What is said of a restore is what is there.

use super::restored::{left, silent};
use super::*;
use pretty_assertions::assert_eq;

/// What is said of a restore: `+` opens what was restored, `-` removed, `=` left, `~` kept and `!`
/// what failed.
pub(super) fn say(words: &str, said: &mut Restored) {
    *said = Restored {
        restored: vec![],
        removed: vec![],
        left: vec![],
        kept: vec![],
        failed: vec![],
        ..said.clone()
    };
    for word in words.split_whitespace() {
        let path = ByteString::from(&word[1..]);
        match &word[..1] {
            "+" => said.restored.push(path),
            "-" => said.removed.push(path),
            "=" => said.left.push(path),
            "~" => said.kept.push(remark(path)),
            _ => said.failed.push(remark(path)),
        }
    }
}

#[test]
fn what_is_said_of_a_restore_is_what_is_there() {
    let whole = "restore alpha 1";
    let exact = "restore alpha 1 exact";
    let plain = ("a=1", "a=2 n=1", "a=1 n=1");
    let ignored = (".gitignore=x", ".gitignore= x=1", ".gitignore=x x=1");
    let uncaptured = ("a=1 b=1", ".gitignore=a a=1 b=2", ".gitignore=a a=1 b=1");
    let forced = "restore alpha 1 exact force";
    for (asked, (taken, now, after), said, rules) in [
        (whole, plain, "+a =n", ""),
        (whole, plain, "=n", "restore/honest"),
        (whole, plain, "+a +n =n", "restore/honest"),
        (whole, plain, "+a =n !a", "restore/honest"),
        (whole, plain, "+a =n -x", "restore/honest"),
        (whole, plain, "+a", "restore/leaves-new"),
        (whole, plain, "+a =n =a", "restore/leaves-new"),
        (whole, plain, "+a =n ~a", "restore/protects"),
        ("file alpha 1 a", plain, "+a", ""),
        (whole, ("a=1", "a!", "a!"), "~a", ""),
        (whole, ("a=1", "a!", "a!"), "", "restore/protects"),
        (whole, ("d/a=1", "d!", "d!"), "~d/a", ""),
        (whole, ("d=1", "d/a=2 d/.env=", "d/a=2 d/.env="), "~d =d/a", ""),
        (whole, uncaptured, "+b =.gitignore", ""),
        (whole, uncaptured, "+b =.gitignore ~a", ""),
        (whole, uncaptured, "+b =.gitignore ~b", "restore/protects"),
        (whole, ("a=1 b=1", "a=1 b=2", "a=1 b=1"), "+b ~a", "restore/protects"),
        (whole, ignored, "+.gitignore =x", ""),
        (exact, ignored, "+.gitignore ~x", ""),
        (exact, ignored, "+.gitignore", "restore/protects"),
        (exact, ("a=1", "a=2 n=1", "a=1"), "+a -n", ""),
        (exact, ("a=1", "a=2 n=1", "a=1"), "+a", "restore/honest"),
        (forced, plain, "+a =n", ""),
        (whole, ("d=1", "d/a=2", "d=1"), "+d -d/a", ""),
        (whole, ("d/a=1", "d=2", "d/a=1"), "+d/a -d", ""),
    ] {
        let mut scene = Scene::changed(taken, now);
        if asked == forced {
            scene.world.settings.max_files = 0;
        }
        let mut seen = left(&scene, asked, after);
        let Answer::Restored(restored) = &mut seen.answer else { panic!("{asked}") };
        say(said, restored);
        assert_eq!(scene.broken(&seen), rules, "{asked} {now} {after}: {said}");
        let mut silent = silent(taken, now);
        silent.world.settings.max_files = scene.world.settings.max_files;
        assert_eq!(silent.broken(&seen), "", "{asked} {now} {after}: {said}");
    }
    // What was missed was not kept.
    let mut missed = left(&Scene::changed("a=1", "a=2"), whole, "a=2");
    let Answer::Restored(restored) = &mut missed.answer else { panic!("no restore") };
    say("", restored);
    assert_eq!(Scene::changed("a=1", "a=2").broken(&missed), "restore/bytes");
}

#[test]
fn what_is_said_of_the_checkpoint_before_and_the_turn_is_right() {
    let (whole, undoes) = ("restore alpha 1", "restore/undoes-turn");
    let spoilt: [(_, _, Spoil<Restored>, _); 5] = [
        (whole, "a=2", &|said| said.safety = None, "restore/safety-checkpoint"),
        (whole, "a=1", &|said| said.safety = Some(id(9)), "restore/safety-skipped"),
        (whole, "a=2", &|said| said.forced_past = true, "restore/safety-required"),
        (whole, "a=2", &|said| said.undoes_turn = false, undoes),
        ("file alpha 1 a", "a=2", &|said| said.undoes_turn = true, undoes),
    ];
    for (asked, now, spoil, rules) in spoilt {
        for lacks in ["", "restore.undoes_turn"] {
            let mut scene = Scene::without(lacks, "a=1");
            scene.ask("take alpha");
            scene.set(now);
            let mut seen = scene.right(asked);
            let Answer::Restored(said) = &mut seen.answer else { panic!("{asked}") };
            spoil(said);
            let says = lacks.is_empty() || rules != undoes;
            assert_eq!(scene.broken(&seen), if says { rules } else { "" }, "{asked} {lacks}");
        }
    }
}

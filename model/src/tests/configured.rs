//! What is configured, and a prune that goes by it.

use super::*;
use crate::configuration::Configuration;

const FILE: &str = "/home/.hermes/config.yaml=checkpoints:;  retention_days:_3;  enabled:_true;";

/// The file of a scene, in which no blank can be written otherwise.
fn configured(scene: &mut Scene, text: &str) {
    let (path, content) = text.split_once('=').unwrap();
    let content = ByteString::from(
        &*content.replace(';', "\n").replace('_', " ").replace("retention days", "retention_days"),
    );
    let path = ByteString::from(&path[1..]);
    scene.world.edit(&Edit::Write { path, content, executable: false });
}

#[test]
fn a_configuration_is_what_its_file_says_and_else_the_defaults() {
    let mut scene = Scene::with("");
    let due = Configuration::default();
    let answer = |configuration: &Configuration| Answer::Configured(configuration.clone());
    assert_eq!(scene.answered("configured", answer(&due)), "");
    configured(&mut scene, FILE);
    assert_eq!(scene.answered("configured", answer(&due)), "config/keys");
    assert_eq!(scene.answered("configured", Answer::Done), "config/keys");
    let due = Configuration { enabled: true, retention_days: 3, ..due };
    assert_eq!(scene.answered("configured", answer(&due)), "");
    scene.put("/home/.hermes/config.yaml=what?");
    assert_eq!(scene.answered("configured", Answer::Done), "", "nobody knows what that means");
}

/// The rules that a prune breaks which leaves `alpha` as it is, five days after its checkpoint.
fn pruned(scene: &mut Scene, left: bool) -> String {
    scene.ask("take alpha");
    scene.wait(5 * DAY);
    let (stale, scanned) = (usize::from(!left), 1);
    let counts = Counts { scanned, stale, bytes_freed: 1, ..Counts::default() };
    let mut seen = scene.seen("prunes", swept(SweepOutcome::Done, counts));
    let mut contents = scene.contents();
    if !left {
        contents.visible.clear();
    }
    seen.contents = Some(contents);
    seen.base = Some(scene.base());
    scene.broken(&seen)
}

#[test]
fn a_prune_without_options_goes_by_the_file() {
    let scene = || Scene::with("a=1");
    assert_eq!(pruned(&mut scene(), true), "");
    assert_eq!(
        pruned(&mut scene(), false),
        "sweep/stale sweep/counts",
        "no configuration would do so"
    );
    let mut three_days = scene();
    configured(&mut three_days, FILE);
    assert_eq!(pruned(&mut three_days.clone(), false), "");
    assert_eq!(pruned(&mut three_days, true), "maintenance/defaults");
    let mut other_settings = scene();
    other_settings.world.settings.retention_days = 1;
    assert_eq!(pruned(&mut other_settings, false), "maintenance/defaults");
}

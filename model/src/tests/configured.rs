//! The reported configuration, and a prune that follows it.

use super::*;
use crate::configuration::Configuration;

const FILE: &str = "/home/.hermes/config.yaml=checkpoints:;  retention_days:_3;  enabled:_true;";

/// Writes a configuration file; the notation of a scene cannot express its blanks.
fn write_configuration(scene: &mut Scene, text: &str) {
    let (path, content) = text.split_once('=').unwrap();
    let content = ByteString::from(
        &*content.replace(';', "\n").replace('_', " ").replace("retention days", "retention_days"),
    );
    let path = ByteString::from(&path[1..]);
    scene.world.edit(&Edit::Write { path, content, executable: false });
}

#[test]
fn configured_reports_the_configuration_file_with_defaults_for_missing_keys() {
    let mut scene = Scene::with("");
    let expected = Configuration::default();
    let answer = |configuration: &Configuration| Answer::Configured(configuration.clone());
    assert_eq!(scene.broken_by("configured", answer(&expected)), "");
    write_configuration(&mut scene, FILE);
    assert_eq!(scene.broken_by("configured", answer(&expected)), "config/keys");
    assert_eq!(scene.broken_by("configured", Answer::Done), "config/keys");
    let expected = Configuration { enabled: true, retention_days: 3, ..expected };
    assert_eq!(scene.broken_by("configured", answer(&expected)), "");
    scene.edit("/home/.hermes/config.yaml=what?");
    assert_eq!(scene.broken_by("configured", Answer::Done), "", "nobody knows what that means");
}

/// The rules broken by a prune that keeps or removes `alpha`, five days after its checkpoint.
fn pruned(scene: &mut Scene, is_kept: bool) -> String {
    scene.perform("take alpha");
    scene.wait(5 * DAY);
    let stale = usize::from(!is_kept);
    let scanned = 1;
    let counts = Counts { scanned, stale, bytes_freed: 1, ..Counts::default() };
    let mut observation = scene.observation("prunes", swept(SweepOutcome::Done, counts));
    let mut contents = scene.contents();
    if !is_kept {
        contents.visible.clear();
    }
    observation.contents = Some(contents);
    observation.base = Some(scene.base());
    scene.broken_rules(&observation)
}

#[test]
fn prune_as_configured_follows_the_configuration_file() {
    let scene = || Scene::with("a=1");
    assert_eq!(pruned(&mut scene(), true), "");
    assert_eq!(
        pruned(&mut scene(), false),
        "sweep/stale sweep/counts",
        "no configuration would do so"
    );
    let mut three_days = scene();
    write_configuration(&mut three_days, FILE);
    assert_eq!(pruned(&mut three_days.clone(), false), "");
    assert_eq!(pruned(&mut three_days, true), "maintenance/defaults");
    let mut other_settings = scene();
    other_settings.world.settings.retention_days = 1;
    assert_eq!(pruned(&mut other_settings, false), "maintenance/defaults");
}

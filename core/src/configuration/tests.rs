//! Tests of valid and of refused configuration files.

use super::*;
use crate::disk::SystemDisk;
use crate::policy::Policy;
use std::fs;
use std::os::unix::fs::symlink;

/// Reads a file with this content.
fn file(content: impl AsRef<[u8]>) -> Result<Configured> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    fs::write(&path, content).unwrap();
    read(&SystemDisk, &path)
}

/// The configuration of a file that causes no warning.
#[track_caller]
fn config(content: impl AsRef<[u8]>) -> Config {
    let Configured { config, warnings } = file(content).unwrap();
    assert_eq!(warnings, []);
    config
}

/// The configuration of a section with this one line.
#[track_caller]
fn key(line: &str) -> Config {
    config(format!("checkpoints:\n  {line}\n"))
}

/// Where a file is refused, and why.
#[track_caller]
fn refused(content: impl AsRef<[u8]>) -> (u64, u64, String) {
    let error = file(content).unwrap_err();
    assert_eq!(error.code(), "bad_config");
    match error {
        Error::BadConfig { line, column, why, .. } => (line, column, why),
        error => panic!("{error}"),
    }
}

/// Why a section with this one line is refused.
#[track_caller]
fn refused_key(line: &str) -> String {
    let (line_number, column, why) = refused(format!("checkpoints:\n  {line}\n"));
    let value = line.find(": ").map_or(line.len(), |colon| colon + 2);
    assert_eq!((line_number, column), (2, value as u64 + 3), "{line}");
    why
}

/// The position, key and suggestion of each warning.
#[track_caller]
fn warnings(content: &str) -> Vec<(u64, u64, String, Option<&'static str>)> {
    let warned = file(content).unwrap().warnings.into_iter();
    warned.map(|warning| (warning.line, warning.column, warning.key, warning.nearest)).collect()
}

#[test]
fn read_returns_the_defaults_for_a_missing_file_or_an_empty_section() {
    let default = Config::default();
    assert_eq!(default.max_total_bytes, 524_288_000);
    assert_eq!((default.retention_seconds, default.min_interval_seconds), (604_800, 86_400));
    let silent = [
        "",
        "\n\n",
        "# nothing\n",
        "---\n",
        "~\n",
        "{}",
        "model: gpt\n",
        "checkpoints:\n",
        "checkpoints: ~\n",
        "checkpoints: {}\n",
        "\u{feff}checkpoints:\n",
    ];
    for text in silent {
        assert_eq!(config(text), default, "{text:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    for missing in ["config.yaml", "no/folder/config.yaml"] {
        let configured = read(&SystemDisk, &folder.path().join(missing)).unwrap();
        assert_eq!(configured, Configured::default());
    }
}

#[test]
fn read_follows_a_link_and_refuses_a_file_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("config.yaml");
    let real = folder.path().join("real.yaml");
    symlink("real.yaml", &link).unwrap();
    assert_eq!(read(&SystemDisk, &link).unwrap_err().code(), "io");
    fs::write(&real, "checkpoints: true\n").unwrap();
    assert!(read(&SystemDisk, &link).unwrap().config.enabled);
    fs::remove_file(&real).unwrap();
    fs::create_dir(&real).unwrap();
    assert_eq!(read(&SystemDisk, &link).unwrap_err().code(), "io");
}

#[test]
fn read_sets_for_each_key_its_field_and_nothing_else() {
    let default = Config::default;
    // A boolean instead of a section is the value of the first key.
    assert_eq!(config("checkpoints: true\n"), Config { enabled: true, ..default() });
    assert_eq!(config("checkpoints: false\n"), default());
    assert_eq!(key("enabled: true"), Config { enabled: true, ..default() });
    assert_eq!(key("max_snapshots: 3"), Config { max_snapshots: 3, ..default() });
    let two = 2 * 1024 * 1024;
    assert_eq!(key("max_total_size_mb: 2"), Config { max_total_bytes: two, ..default() });
    assert_eq!(key("max_file_size_mb: 2"), Config { max_file_bytes: two, ..default() });
    assert_eq!(key("auto_prune: false"), Config { auto_prune: false, ..default() });
    assert_eq!(key("retention_days: 2"), Config { retention_seconds: 172_800, ..default() });
    assert_eq!(key("delete_orphans: false"), Config { delete_orphans: false, ..default() });
    assert_eq!(key("min_interval_hours: 2"), Config { min_interval_seconds: 7_200, ..default() });
    let policy = |text: &str| key(text).policy;
    let usual = Policy::default;
    assert_eq!(policy("before_high_risk: false"), Policy { before_high_risk: false, ..usual() });
    assert_eq!(policy("mass_edit_files: 3"), Policy { mass_edit_files: 3, ..usual() });
    assert_eq!(policy("milestone_percent: 10"), Policy { milestone_percent: 10, ..usual() });
    assert_eq!(policy("card_done: false"), Policy { card_done: false, ..usual() });
    assert_eq!(policy("every_turns: 5"), Policy { every_turns: 5, ..usual() });
    assert_eq!(policy("long_call_seconds: 0"), Policy { long_call_seconds: 0, ..usual() });
}

#[test]
fn read_accepts_zero_and_fractional_amounts_and_limits_large_ones() {
    assert_eq!(key("max_total_size_mb: 0").max_total_bytes, 0);
    assert_eq!(key("max_file_size_mb: 0.0").max_file_bytes, 0);
    assert_eq!(key("max_file_size_mb: -0").max_file_bytes, 0);
    assert_eq!(key("max_file_size_mb: 0.5").max_file_bytes, 512 * 1024);
    assert_eq!(key("max_file_size_mb: 1e1").max_file_bytes, 10 * 1024 * 1024);
    assert_eq!(key("retention_days: 0.5").retention_seconds, 43_200);
    assert_eq!(key("min_interval_hours: .25").min_interval_seconds, 900);
    assert_eq!(key("retention_days: 1e-9").retention_seconds, 1, "a little is not off");
    for huge in ["18446744073709551615", "99999999999999999999999999", "1e300"] {
        assert_eq!(key(&format!("max_total_size_mb: {huge}")).max_total_bytes, u64::MAX);
        assert_eq!(key(&format!("retention_days: {huge}")).retention_seconds, u64::MAX);
        assert_eq!(key(&format!("max_snapshots: {huge}")).max_snapshots, usize::MAX);
    }
}

#[test]
fn read_refuses_an_invalid_value_with_its_position_and_what_is_allowed() {
    let cases = [
        ("enabled: 1", "enabled is 1, but must be true or false"),
        ("enabled: yes", "enabled is the text \"yes\", but must be true or false (write true)"),
        ("enabled: ON", "enabled is the text \"ON\", but must be true or false (write true)"),
        (
            "auto_prune: \"off\"",
            "auto_prune is the text \"off\", but must be true or false (write false)",
        ),
        (
            "delete_orphans: No",
            "delete_orphans is the text \"No\", but must be true or false (write false)",
        ),
        (
            "max_snapshots: many",
            "max_snapshots is the text \"many\", but must be a whole number of at least 1",
        ),
        (
            "max_snapshots: no",
            "max_snapshots is the text \"no\", but must be a whole number of at least 1",
        ),
        ("max_snapshots: 0", "max_snapshots is 0, but must be a whole number of at least 1"),
        ("max_snapshots: -3", "max_snapshots is -3, but must be a whole number of at least 1"),
        ("max_snapshots: 2.5", "max_snapshots is 2.5, but must be a whole number of at least 1"),
        ("max_snapshots: true", "max_snapshots is true, but must be a whole number of at least 1"),
        (
            "max_snapshots: 1_000",
            "max_snapshots is the text \"1_000\", but must be a whole number of at least 1",
        ),
        ("max_snapshots: ~", "max_snapshots is empty, but must be a whole number of at least 1"),
        (
            "max_total_size_mb: \"500\"",
            "max_total_size_mb is the text \"500\", but must be a number of at least 0",
        ),
        ("max_file_size_mb: [1]", "max_file_size_mb is a list, but must be a number of at least 0"),
        (
            "retention_days: {a: 1}",
            "retention_days is a mapping, but must be a number of at least 0",
        ),
        ("retention_days: -1e30", "retention_days is -1e30, but must be a number of at least 0"),
        (
            "min_interval_hours: .nan",
            "min_interval_hours is NaN, but must be a number of at least 0",
        ),
        (
            "min_interval_hours: .inf",
            "min_interval_hours is inf, but must be a number of at least 0",
        ),
        (
            "include: [dist/, \"!log\"]",
            "include contains the text \"!log\", but must be a list of patterns as in a .gitignore, such as \
             [dist/, \"*.log\"], without !",
        ),
    ];
    for (line, why) in cases {
        assert_eq!(refused_key(line), why);
    }
    let (line, _, why) = refused("checkpoints:\n  enabled: true\n  max_snapshots:\n");
    assert_eq!(
        (line, &*why),
        (3, "max_snapshots is empty, but must be a whole number of at least 1")
    );
    let long = refused_key(&format!("enabled: {}", "é".repeat(1000)));
    assert_eq!(long.matches('é').count(), 40);
    let error = file("checkpoints: { enabled: 1 }\n").unwrap_err().to_string();
    assert!(error.starts_with('"'), "{error}");
    let rest = "/config.yaml\", line 1, column 25: enabled is 1, but must be true or false; nothing \
                was changed";
    assert!(error.ends_with(rest), "{error}");
}

#[test]
fn read_refuses_a_section_or_a_file_of_the_wrong_kind() {
    let allowed = "but must be true, false or a mapping of its keys";
    let section = |text: &str| refused(text);
    assert_eq!(section("checkpoints: 1\n"), (1, 14, format!("checkpoints is 1, {allowed}")));
    assert_eq!(
        section("a: b\ncheckpoints: [enabled]\n"),
        (2, 14, format!("checkpoints is a list, {allowed}"))
    );
    let yes = format!("checkpoints is the text \"yes\", {allowed} (write true)");
    assert_eq!(section("checkpoints: yes\n"), (1, 14, yes));
    let why = |found| format!("the file must be a mapping of sections, but is {found}");
    assert_eq!(section("\n- checkpoints\n"), (2, 1, why("a list")));
    assert_eq!(section("checkpoints\n"), (1, 1, why("the text \"checkpoints\"")));
}

#[test]
fn read_counts_columns_in_characters() {
    let (line, column, _) = refused("ü: {ß: é}\n\"checkpoints\": {  enabled: 'ü' }\n");
    assert_eq!((line, column), (2, 28));
    let (line, column, _) = refused("{\"ü\": é, checkpoints: ü}\n");
    assert_eq!((line, column), (1, 23));
}

#[test]
fn read_accepts_anything_in_the_sections_of_other_programs() {
    let text = "
model: !custom {temperature: .nan, top: 1e999, name: yes}
1: [a, {b: [~, !!binary aGk=]}]
? [a, list]
: a key that is a list
Checkpoints: nonsense
max_snapshots: none of ours
nested: {checkpoints: 3}
long: |
  text
    checkpoints: [
other: &other {max_snapshots: 5}
other: {a: 1, a: 2}
another: *other
checkpoints: {max_snapshots: 7}
";
    assert_eq!(config(text), Config { max_snapshots: 7, ..Config::default() });
}

#[test]
fn read_refuses_invalid_yaml_in_any_section() {
    for (text, line, column, why) in [
        ("checkpoints: true\nmodel: [a\n", 2, 8, "unclosed bracket '['"),
        ("model: \"open\n", 2, 1, "invalid indentation in multiline quoted scalar"),
        ("a: b\n\tc: d\n", 1, 4, "while scanning a plain scalar, found a tab"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed in this context"),
        ("checkpoints: *nothing\n", 1, 14, "reference to unknown value"),
        ("checkpoints: {}}\n", 1, 16, "misplaced bracket"),
        ("a: 1\n---\nb: 1\n", 3, 1, "only single YAML document expected but multiple found"),
        ("a: \u{7}\n", 1, 4, "unexpected character: `\\u{7}'"),
    ] {
        assert_eq!(refused(text), (line, column, why.to_owned()), "{text:?}");
    }
}

#[test]
fn read_refuses_invalid_utf_8_at_the_position_of_the_byte() {
    let (line, column, why) = refused(b"a: 1\nb: \xc3\xa9\xff\n");
    assert_eq!((line, column), (2, 5));
    assert_eq!(why, "the file must be UTF-8, but contains the byte 0xff");
    let utf_16 = "checkpoints: true".encode_utf16().flat_map(u16::to_be_bytes);
    let bytes: Vec<u8> = [0xfe, 0xff].into_iter().chain(utf_16).collect();
    assert_eq!(refused(bytes).0, 1);
}

#[test]
fn read_refuses_a_duplicate_key_at_its_second_occurrence() {
    let (line, column, why) = refused("checkpoints:\n  enabled: true\n  enabled: false\n");
    assert_eq!((line, column), (3, 3), "{why}");
    assert!(why.contains("enabled"), "{why}");
    let (line, column, why) = refused("checkpoints: true\ncheckpoints: true\n");
    assert_eq!((line, column), (2, 1), "{why}");
}

#[test]
fn read_warns_of_an_unknown_key_and_applies_the_others() {
    let configured = file("checkpoints:\n  enabled: true\n  max_snapshot: 3\n").unwrap();
    assert_eq!(configured.config, Config { enabled: true, ..Config::default() });
    let warning = configured.warnings[0].to_string();
    let rest = "/config.yaml\", line 3, column 3: unknown key \"max_snapshot\" in checkpoints is \
                ignored: did you mean max_snapshots?";
    assert!(warning.ends_with(rest), "{warning}");
    let found = warnings("checkpoints: {colour: blue, 7: a, [b]: c}\n");
    let key = |column, key: &str| (1, column, key.to_owned(), None);
    assert_eq!(found, [key(15, "colour"), key(29, "7"), key(35, "a list")]);
    let message = file("checkpoints: {colour: 1}\n").unwrap().warnings[0].to_string();
    assert!(message.contains("the keys are enabled, max_snapshots, "), "{message}");
}

#[test]
fn nearest_suggests_the_key_that_may_be_meant() {
    for (typed, meant) in [
        ("max_snapshot", Some("max_snapshots")),
        ("maxSnapshots", Some("max_snapshots")),
        ("max-snapshots", Some("max_snapshots")),
        ("Enabled", Some("enabled")),
        ("enable", Some("enabled")),
        ("max_total_size", Some("max_total_size_mb")),
        ("max_file_size", Some("max_file_size_mb")),
        ("autoprune", Some("auto_prune")),
        ("retention", Some("retention_days")),
        ("delete_orphan", Some("delete_orphans")),
        ("min_interval", Some("min_interval_hours")),
        ("colour", None),
        ("", None),
        ("backend", None),
        ("max", None),
        ("verbose", None),
    ] {
        assert_eq!(nearest(typed), meant, "{typed}");
    }
}

#[test]
fn read_applies_anchors_and_merges_where_they_are_used() {
    let text = "base: &base {max_snapshots: 4, enabled: &truth true}\n";
    let merged = config(format!("{text}checkpoints:\n  <<: *base\n  auto_prune: *truth\n"));
    assert_eq!(merged, Config { enabled: true, max_snapshots: 4, ..Config::default() });
    let (line, column, _) = refused(format!("{text}checkpoints:\n  max_snapshots: *truth\n"));
    assert_eq!((line, column), (3, 18));
}

#[test]
fn read_refuses_aliases_that_expand_too_far_and_files_that_are_too_large() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        bomb += &format!("a{level}: &a{level} [{before}]\n");
    }
    let (line, _, why) = refused(&bomb);
    assert!(line > 1, "{why}");
    let deep = "[".repeat(100_000);
    refused(deep);
    let deep: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    refused(deep);
    refused("a: &a [*a]\n");
    let (line, column, why) = refused("#".repeat(4 * 1024 * 1024 + 1));
    assert_eq!((line, column, why.as_str()), (1, 1, "the file is larger than 4 MB"));
    assert_eq!(config("#".repeat(4 * 1024 * 1024)), Config::default());
}

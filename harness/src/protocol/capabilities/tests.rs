//! Tests of what capabilities mean for judging.

use super::*;

/// The capabilities of a hello with these fields.
fn hello(fields: &str) -> Result<Capabilities, String> {
    let text = format!(r#"{{"protocol": 1, "impl": {{"name": "x", "version": "1"}}, {fields}}}"#);
    Capabilities::of(&serde_json::from_str(&text).unwrap())
}

#[test]
fn with_of_every_name_gives_all() {
    let all = Capabilities::all();
    assert_eq!(all.names().fold(Capabilities::none(), Capabilities::with), all);
}

#[test]
fn max_total_bytes_is_not_set_if_it_is_not_a_multiple_of_its_unit() {
    let read = |value: Value| {
        let claims = [(MAX_TOTAL_BYTES, value), ("layout", true.into())];
        Capabilities::read(&claims.map(|(name, value)| (name.to_owned(), value)).into(), &[])
    };
    let unseen = Capabilities::none().with(MAX_TOTAL_BYTES);
    let unit_1 = read(true.into()).unwrap();
    let unit_10 = read(10.into()).unwrap();
    for (capabilities, requested, expected) in [
        (&unit_1, 25, 25),
        (&unit_10, 30, 30),
        (&unit_10, 25, 0),
        (&unit_10, 0, 0),
        (&Capabilities::none(), 30, 0),
        (&unseen, 30, 0),
    ] {
        let settings = Settings { max_total_bytes: requested, ..Settings::default() };
        assert_eq!(capabilities.restrict_settings(&settings).max_total_bytes, expected);
        assert_eq!(capabilities.max_total_bytes(requested), expected);
    }
    assert_eq!(unit_10.units(), Units { file: 1, total: 10 });
    let unit_4 = read(4.into()).unwrap();
    assert_eq!(unit_10.in_common(&unit_4).units().total, 20);
    assert_eq!(unit_10.in_common(&unit_1), unit_10);
    assert_eq!(unit_10.in_common(&Capabilities::none()), Capabilities::none());
    for invalid in [Value::from(0), Value::from(-1), Value::from("1 MiB")] {
        assert!(read(invalid).unwrap_err().contains("the bytes of its unit"));
    }
    let number = BTreeMap::from([("diff".to_owned(), Value::from(2))]);
    assert!(Capabilities::read(&number, &[]).unwrap_err().contains("is true or false"));
}

#[test]
fn fixed_keeps_replaces_max_snapshots_and_avoids_must_not_name_git() {
    let restricted = |claimed: &Capabilities| {
        claimed.restrict_settings(&Settings { max_snapshots: 3, ..Settings::default() })
    };
    let fixed = hello(r#""keeps": 15"#).unwrap();
    assert_eq!(restricted(&fixed).max_snapshots, 15);
    assert_eq!(restricted(&fixed.clone().with("settings.max_snapshots")).max_snapshots, 3);
    assert_eq!(restricted(&fixed.in_common(&Capabilities::none())).max_snapshots, 15);
    assert!(hello(r#""keeps": 0"#).unwrap_err().contains("at least one"));
    assert!(hello(r#""avoids": [".git"]"#).unwrap_err().contains("capture.no_repositories"));
}

#[test]
fn uses_git_is_declared_or_follows_from_the_layout_or_the_repository() {
    for (fields, expected) in [
        (r#""reusable": true"#, false),
        (r#""git": true"#, true),
        (r#""needs": ["repository"]"#, true),
        (r#""capabilities": {"layout": true}"#, true),
    ] {
        assert_eq!(hello(fields).unwrap().uses_git(), expected, "{fields}");
    }
}

#[test]
fn why_not_says_why_a_claimed_capability_is_withheld() {
    let why = "root reads every file";
    let claimed = Capabilities::none().with("files.unreadable");
    let rule = &rules::CAPTURE_UNREADABLE;
    assert_eq!(claimed.why_not(rule), None);
    let withheld = claimed.withhold("files.unreadable", why);
    assert_eq!(withheld.why_not(rule).as_deref(), Some(why));
    assert_eq!(withheld.why_withheld("files.unreadable"), Some(why));
    let unclaimed = Capabilities::none().withhold("files.unreadable", why);
    assert_eq!(unclaimed.why_not(rule).unwrap(), "lacks `files.unreadable`");
    assert_eq!(unclaimed.why_withheld("files.unreadable"), None);
}

#[test]
fn can_set_is_false_for_a_history_with_a_limit_that_cannot_be_set() {
    let unit_10 = BTreeMap::from([
        (MAX_TOTAL_BYTES.to_owned(), Value::from(10)),
        (MAX_FILE_BYTES.to_owned(), Value::from(10)),
        ("layout".to_owned(), Value::from(true)),
    ]);
    let unit_10 = Capabilities::read(&unit_10, &[]).unwrap();
    let history = |max_file_bytes, max_total_bytes, pruned| {
        let prune =
            Request::Prune { retention_days: 0, max_total_bytes: pruned, delete_orphans: true };
        let settings = Settings { max_file_bytes, max_total_bytes, ..Settings::default() };
        History { settings, operations: vec![prune.into()], ..History::default() }
    };
    assert!(unit_10.can_set(&history(0, 10, 500)));
    for history in [history(1, 10, 10), history(10, 11, 10), history(10, 10, 9)] {
        assert!(!unit_10.can_set(&history));
        assert!(Capabilities::all().can_set(&history) && Capabilities::none().can_set(&history));
    }
}

#[test]
#[should_panic(expected = "there is no capability `restore.exac`; did you mean `restore.exact`?")]
fn with_refuses_an_unknown_name_and_suggests_the_nearest() {
    let _ = Capabilities::none().with("restore.exac");
}

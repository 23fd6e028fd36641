//! What the table of requests says of each of them.

use super::*;

/// One request of every kind.
fn every_kind() -> Vec<Request> {
    let dir = || ByteString::from("d");
    let target = || ByteString::from("1");
    let reason = String::new;
    vec![
        Request::NewTurn,
        Request::Reopen,
        Request::SetClock { seconds: 1 },
        Request::ProjectOf { file: "f".into() },
        Request::Classify { command: "ls".into() },
        Request::BeforeTool { dir: dir(), tool: Tool::Terminal { command: "ls".into() } },
        Request::EnsureCheckpoint { dir: dir(), reason: reason() },
        Request::WithoutBackend { dir: dir(), reason: reason() },
        Request::Checkpoint { dir: dir(), reason: reason() },
        Request::List { dir: dir() },
        Request::PrintList { dir: dir() },
        Request::Diff { dir: dir(), target: target() },
        Request::Restore { dir: dir(), target: target(), exact: false, force: false },
        Request::RestoreFile { dir: dir(), target: target(), path: "p".into() },
        Request::RestoreLatest { dir: dir(), exact: false },
        Request::ToolWrites { dir: dir(), path: "p".into() },
        Request::ToolWrote { dir: dir(), path: "p".into() },
        Request::SetState { part: Part::Goal, value: Value::Null },
        Request::GetState { part: Part::Goal },
        Request::Label { dir: dir(), label: "l".into() },
        Request::Pin { dir: dir(), target: target() },
        Request::Unpin { dir: dir(), target: target() },
        Request::External {
            action: Action { kind: "k".into(), id: None, to: None },
            compensation: None,
        },
        Request::Compensate,
        Request::Accept,
        Request::Event { dir: dir(), event: AgentEvent::TurnBoundary },
        Request::Spawn,
        Request::Join,
        Request::Sweep,
        Request::Prune { retention_days: 1, max_total_bytes: 0, delete_orphans: true },
        Request::PruneAsConfigured,
        Request::Configured,
        Request::Status,
        Request::ClearLegacy,
        Request::Clear,
    ]
}

#[test]
fn what_holds_of_a_request_is_in_the_table_once_and_in_order() {
    let all = every_kind();
    let names: Vec<_> = all.iter().map(Request::name).collect();
    assert_eq!(names, REQUESTS.iter().map(|kind| kind.name).collect::<Vec<_>>());
    for request in all {
        assert_eq!(request.kind().name, request.name());
        assert_eq!(request.main_rule(), request.kind().rule);
    }
}

#[test]
fn a_request_about_a_project_names_its_directory_and_no_other_does() {
    for mut request in every_kind() {
        let about_one = request.kind().about == About::Project;
        let dir = about_one.then(|| ByteString::from("d"));
        assert_eq!(request.dir(), dir.as_ref(), "{request:?}");
        assert_eq!(request.dir_mut().cloned(), dir, "{request:?}");
    }
}

#[test]
fn the_directory_and_the_checkpoint_can_be_named_otherwise() {
    let restore = |dir: &str, target: u8| Request::Restore {
        dir: dir.into(),
        target,
        exact: true,
        force: false,
    };
    let mut request = restore("d", 1);
    *request.dir_mut().unwrap() = "e".into();
    *request.target_mut().unwrap() += 1;
    assert_eq!(request, restore("e", 2));
    assert_eq!(request.with_target(|target| target + 1), restore("e", 3));
    assert_eq!(Request::<u8>::Status.with_target(|_| -> u8 { unreachable!() }), Request::Status);
    for mut request in every_kind() {
        let has_one = format!("{request:?}").contains("target");
        assert_eq!(request.target().is_some(), has_one, "{request:?}");
        assert_eq!(request.target_mut().is_some(), has_one, "{request:?}");
    }
}

#[test]
fn what_only_looks_may_change_nothing() {
    let only_look: Vec<_> =
        every_kind().iter().filter(|one| one.only_looks()).map(Request::name).collect();
    let due =
        "project_of classify test.without_backend list print_list diff get_state configured status";
    assert_eq!(only_look, due.split(' ').collect::<Vec<_>>());
}

#[test]
fn no_field_is_called_like_one_of_the_line_that_carries_it() {
    for request in every_kind() {
        let written = serde_json::to_value(&request).unwrap();
        let fields = written.get(request.name()).and_then(Value::as_object);
        let own = |name: &&str| fields.is_some_and(|fields| fields.contains_key(*name));
        assert_eq!(["id", "op"].iter().find(|name| own(name)), None, "{request:?}");
    }
}

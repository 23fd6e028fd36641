//! The table of requests, checked with one request of every kind.

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
        Request::Undo { dir: dir() },
        Request::Redo { dir: dir() },
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
fn requests_has_one_row_for_every_kind_of_request_in_order() {
    let requests = every_kind();
    let names: Vec<_> = requests.iter().map(Request::name).collect();
    assert_eq!(names, REQUESTS.iter().map(|kind| kind.name).collect::<Vec<_>>());
    for request in requests {
        assert_eq!(request.kind().name, request.name());
        assert_eq!(request.main_rule(), request.kind().rule);
    }
}

#[test]
fn dir_is_some_exactly_for_requests_about_a_project() {
    for mut request in every_kind() {
        let is_about_project = request.kind().about == About::Project;
        let dir = is_about_project.then(|| ByteString::from("d"));
        assert_eq!(request.dir(), dir.as_ref(), "{request:?}");
        assert_eq!(request.dir_mut().cloned(), dir, "{request:?}");
    }
}

#[test]
fn dir_mut_target_mut_and_with_target_replace_directory_and_target() {
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
        let has_target = format!("{request:?}").contains("target");
        assert_eq!(request.target().is_some(), has_target, "{request:?}");
        assert_eq!(request.target_mut().is_some(), has_target, "{request:?}");
    }
}

#[test]
fn only_looks_holds_for_the_requests_that_read_and_for_no_other() {
    let only_look: Vec<_> =
        every_kind().iter().filter(|request| request.only_looks()).map(Request::name).collect();
    let expected =
        "project_of classify test.without_backend list print_list diff get_state configured status";
    assert_eq!(only_look, expected.split(' ').collect::<Vec<_>>());
}

#[test]
fn no_field_of_a_request_is_named_like_a_field_of_the_protocol_line() {
    for request in every_kind() {
        let serialized = serde_json::to_value(&request).unwrap();
        let fields = serialized.get(request.name()).and_then(Value::as_object);
        let is_field = |name: &&str| fields.is_some_and(|fields| fields.contains_key(*name));
        assert_eq!(["id", "op"].iter().find(|name| is_field(name)), None, "{request:?}");
    }
}

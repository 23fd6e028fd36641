//! Previews: over generated histories, a preview of a restore reports what the restore then does.

use herma_core::{Preview, RestoreOptions, Scope};
use herma_harness::check;
use herma_harness::generate;
use herma_harness::history::file;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_model::{Answer, ByteString, Code, Request, Settings};
use pretty_assertions::assert_eq;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The core, which previews every restore before it runs it.
struct Previewing {
    core: CoreSubject,
    compared: Arc<AtomicUsize>,
}

impl Previewing {
    /// The preview of a restore; `None` for any other request.
    fn preview(&self, request: &Request) -> Option<herma_core::Result<Preview>> {
        let (dir, target, scope): (&ByteString, _, _) = match request {
            Request::Restore { dir, target, exact, force } => {
                let options = RestoreOptions { exact: *exact, force: *force };
                (dir, target, Scope::All(options))
            }
            Request::RestoreFile { dir, target, path } => (dir, target, Scope::File(&path[..])),
            _ => return None,
        };
        let dir = Path::new(OsStr::from_bytes(dir));
        Some(self.core.manager().preview(dir, target, scope))
    }
}

impl Subject for Previewing {
    fn capabilities(&self) -> Capabilities {
        self.core.capabilities()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let preview = self.preview(request);
        let answer = self.core.ask(request);
        match (preview, &answer) {
            (None, _) => {}
            (Some(Ok(Preview { would, .. })), Answer::Restored(restored)) => {
                let byte_strings = |paths: &[Vec<u8>]| {
                    paths.iter().map(|path| ByteString::from(path.as_slice())).collect::<Vec<_>>()
                };
                assert_eq!(byte_strings(&would.restored), restored.restored, "{request:?}");
                assert_eq!(byte_strings(&would.removed), restored.removed, "{request:?}");
                assert_eq!(byte_strings(&would.left), restored.left, "{request:?}");
                assert_eq!(would.failed.len(), restored.failed.len(), "{request:?}");
                assert_eq!(would.forced_past.is_some(), restored.forced_past, "{request:?}");
                assert_eq!(would.undoes_turn, restored.undoes_turn, "{request:?}");
                self.compared.fetch_add(1, Ordering::Relaxed);
            }
            // Only a failure of the pre-restore checkpoint may refuse what a preview allowed.
            (Some(Ok(_)), Answer::Refused { code, .. }) => {
                assert_eq!(*code, Code::NoSafetyCheckpoint, "{request:?}");
            }
            (Some(Err(error)), Answer::Refused { code, .. }) => {
                assert_eq!(error.code(), code.to_string(), "{request:?}");
            }
            (Some(previewed), answer) => panic!("{request:?}: {previewed:?}, but {answer:?}"),
        }
        answer
    }

    fn identity(&self) -> Identity {
        self.core.identity()
    }
}

/// The preview predicts that the pre-restore checkpoint cannot be taken, with and without `force`.
#[test]
fn preview_respects_the_limits_of_the_pre_restore_checkpoint() {
    let text = "settings: {max_files: 1}\noperations:\n\
        - write: {path: work/alpha/a, content: old}\n- checkpoint: {dir: work/alpha, reason: r}\n\
        - write: {path: work/alpha/a, content: new}\n- write: {path: work/alpha/b, content: new}\n\
        - restore: {dir: work/alpha, target: {number: 1}, exact: true}\n\
        - restore: {dir: work/alpha, target: {number: 1}, exact: true, force: true}\n";
    let history = file::from_yaml(text, Path::new("memory")).unwrap();
    let compared = Arc::new(AtomicUsize::new(0));
    let open = |sandbox: &Sandbox, settings: &Settings, seconds: i64| {
        assert_eq!(settings.max_files, 1);
        let core = CoreSubject::new(sandbox, settings, seconds);
        Box::new(Previewing { core, compared: compared.clone() }) as Box<dyn Subject>
    };
    if let Err(counterexample) = check(&history, &open, &Scratch::in_default_directory()) {
        panic!("{counterexample}");
    }
    assert_eq!(compared.load(Ordering::Relaxed), 1, "only the second is not refused");
}

#[test]
fn restore_does_what_its_preview_reported() {
    let config =
        Config { cases: 80, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let compared = Arc::new(AtomicUsize::new(0));
    let open = |sandbox: &Sandbox, settings: &Settings, seconds: i64| {
        let core = CoreSubject::new(sandbox, settings, seconds);
        Box::new(Previewing { core, compared: compared.clone() }) as Box<dyn Subject>
    };
    // A pre-restore checkpoint stores damaged content again, which a preview cannot predict.
    let undamaged = generate::Options { damage: false, ..generate::Options::default() };
    let verdict = TestRunner::new(config).run(&generate::history_with(undamaged), |history| {
        let checked = check(&history, &open, &Scratch::in_default_directory());
        checked.map_err(|counterexample| TestCaseError::fail(counterexample.to_string()))
    });
    if let Err(failure) = verdict {
        // Prints only the shrunk history, which can be replayed, without the generated history.
        let TestError::Fail(reason, _) = failure else { panic!("{failure}") };
        panic!("{reason}");
    }
    let compared = compared.load(Ordering::Relaxed);
    assert!(compared > 40, "only {compared} restores were compared with their previews");
}

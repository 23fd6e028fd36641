//! A deliberately greedy store, as a canary: before each checkpoint it reads every file of the project
//! into memory. What it stores is right.

use crate::sandbox::Sandbox;
use crate::subject::{CoreSubject, Identity, Subject};
use herma_model::{Answer, Request, Settings};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// As it is served.
pub const GREEDY: &str = "greedy";
/// So long it keeps all of it: what is given back at once nobody sees.
const KEPT: Duration = Duration::from_millis(50);

struct Greedy(CoreSubject);

/// Opens it in a sandbox.
pub fn opened_greedy(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Box<dyn Subject> {
    Box::new(Greedy(CoreSubject::new(sandbox, settings, seconds)))
}

impl Subject for Greedy {
    fn identity(&self) -> Identity {
        Identity::new(GREEDY, env!("CARGO_PKG_VERSION"))
    }

    fn ask(&mut self, request: &Request) -> Answer {
        if let Request::Checkpoint { dir, .. } | Request::EnsureCheckpoint { dir, .. } = request {
            let names = fs::read_dir(Path::new(OsStr::from_bytes(dir))).into_iter().flatten();
            let all: Vec<_> = names.flatten().map(|name| fs::read(name.path())).collect();
            thread::sleep(KEPT);
            drop(all);
        }
        self.0.ask(request)
    }
}

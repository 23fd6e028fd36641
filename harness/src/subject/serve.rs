//! The core as an adapter: it answers the same requests over the protocol as in-process.
//!
//! The suite must judge it equally both ways, which tests the protocol itself.

use super::{CoreSubject, HookedDisk, NewSubject, Subject};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::known::OWN_IGNORE_FILE;
use crate::protocol::message::{self, Open, Versions};
use crate::protocol::{VERSION, translate};
use crate::sandbox::Sandbox;
use herma_core::Environment;
use herma_model::{Answer, ByteString};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Deserialize)]
struct RequestHeader {
    id: u64,
    op: String,
}

/// Serves the core, or a planted bug (`broken`), until the input ends. It only works in a sandbox
/// of this suite, to show that the implementation behind an adapter is judged.
///
/// # Errors
/// Input or output that failed.
pub fn serve(
    input: impl BufRead,
    mut output: impl Write,
    broken: Option<&NewSubject<'_>>,
) -> io::Result<()> {
    let mut core: Option<Box<dyn Subject>> = None;
    for line in input.lines() {
        let reply = answer(&line?, broken, &mut core);
        // A planted bug that hangs keeps this process, which does not reply until it is killed.
        if !reply.is_null() {
            writeln!(output, "{reply}")?;
            output.flush()?;
        }
    }
    Ok(())
}

fn answer(
    line: &str,
    broken: Option<&NewSubject<'_>>,
    core: &mut Option<Box<dyn Subject>>,
) -> Value {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let Ok(RequestHeader { id, op }) = RequestHeader::deserialize(&value) else {
        return refused(0, "bad_target", "this line is no request");
    };
    match &op[..] {
        "hello" => json!({ "id": id, "ok": hello(&value) }),
        "open" => match Open::deserialize(&value) {
            Ok(open) => {
                *core = Some(match broken {
                    None => Box::new(open_core(&open)),
                    Some(broken) => broken(&sandbox(&open), &open.settings, 0),
                });
                json!({ "id": id, "ok": {} })
            }
            Err(error) => refused(id, "store_unusable", &error.to_string()),
        },
        "close" => {
            *core = None;
            json!({ "id": id, "ok": {} })
        }
        _ => match (message::request(&value), core) {
            (None, _) => refused(id, "unsupported", &op),
            (Some(_), None) => refused(id, "store_unusable", "no store is open"),
            (Some(request), Some(core)) => match core.ask(&request) {
                Answer::Crashed(why) if why.starts_with("silent") => Value::Null,
                answer => translate::reply(id, answer),
            },
        },
    }
}

fn refused(id: u64, code: &str, message: &str) -> Value {
    json!({ "id": id, "err": { "code": code, "message": message, "changed": "none" } })
}

fn hello(request: &Value) -> Value {
    let range = Versions::deserialize(&request["protocol"]);
    let value = |name: &str| match name {
        OWN_IGNORE_FILE => json!(herma_model::ignore::OWN_IGNORE_FILE),
        _ => json!(true),
    };
    let claimed: BTreeMap<&str, Value> =
        Capabilities::of_the_core().names().map(|name| (name, value(name))).collect();
    let protocol = range.map_or(VERSION, |range| range.max.min(VERSION));
    json!({
        "protocol": protocol,
        "impl": { "name": "herma-core", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": claimed,
        "reusable": true,
    })
}

/// The sandbox of an `open` message.
fn sandbox(open: &Open) -> Sandbox {
    let home = PathBuf::from(OsStr::from_bytes(&open.home));
    Sandbox::adopt(home.parent().map(PathBuf::from).unwrap_or_default())
}

fn open_core(open: &Open) -> CoreSubject {
    let path = |bytes: &ByteString| PathBuf::from(OsStr::from_bytes(bytes));
    let environment = Environment {
        home: path(&open.home),
        current_directory: path(&open.current_directory),
        base: path(&open.store),
    };
    let disk = Arc::new(HookedDisk::of_an_ordinary_user());
    CoreSubject::in_environment(disk, environment, &open.settings, 0)
}

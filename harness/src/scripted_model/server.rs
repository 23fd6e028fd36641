//! The protocol below the dialects: requests on the loopback interface, each answered and kept.

use super::dialect::{Dialect, Reply};
use super::{Exchange, ModelStep, Script};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tiny_http::{Header, Request, Response};

type Text = io::Cursor<Vec<u8>>;

/// How many requests are answered at the same time: agents ask for titles while a turn runs.
const WORKERS: usize = 4;
/// The largest request that is read; agents send the whole conversation each time.
const REQUEST_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The port is in use, or may not be used.
    #[error("127.0.0.1:{port} cannot be listened on: {why}")]
    Port {
        /// The port.
        port: u16,
        /// What the system says.
        why: String,
    },
    /// The file for the exchanges cannot be made.
    #[error("{0}")]
    Record(#[from] io::Error),
}

/// A scripted model that agents can ask.
pub struct Server {
    http: tiny_http::Server,
    port: u16,
    script: Mutex<Script>,
    kept: Mutex<Kept>,
    answers: AtomicU64,
}

#[derive(Default)]
struct Kept {
    exchanges: Vec<Exchange>,
    record: Option<File>,
}

impl Server {
    /// Listens on a port of 127.0.0.1, 0 for any that is free; exchanges also go to `record`, one JSON object a line.
    ///
    /// # Errors
    /// A port that cannot be listened on; a file that cannot be made.
    pub fn bind(port: u16, script: Script, record: Option<&Path>) -> Result<Self, Error> {
        let http = tiny_http::Server::http(("127.0.0.1", port))
            .map_err(|error| Error::Port { port, why: error.to_string() })?;
        let port = http.server_addr().to_ip().map_or(port, |address| address.port());
        let record = record.map(File::create).transpose()?;
        let kept = Mutex::new(Kept { exchanges: Vec::new(), record });
        Ok(Server { http, port, script: Mutex::new(script), kept, answers: AtomicU64::new(0) })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers requests until [`Server::stop`].
    pub fn serve(&self) {
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    while let Ok(request) = self.http.recv() {
                        // An agent that has gone needs no answer.
                        let _ = self.answer(request);
                    }
                });
            }
        });
    }

    /// Ends [`Server::serve`] in another thread.
    pub fn stop(&self) {
        (0..WORKERS).for_each(|_| self.http.unblock());
    }

    /// Adds a turn to the script.
    pub fn add_turn(&self, name: &str, steps: Vec<ModelStep>) {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.0.insert(name.to_owned(), steps);
    }

    /// The exchanges since the last call of this, in the order of the answers.
    pub fn take_exchanges(&self) -> Vec<Exchange> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut kept.exchanges)
    }

    /// All exchanges so far, in the order of the answers.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).exchanges.clone()
    }

    fn answer(&self, mut request: Request) -> io::Result<()> {
        let path = request.url().to_owned();
        let mut body = Vec::new();
        request.as_reader().take(REQUEST_BYTES_MAX).read_to_end(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let Some(dialect) = Dialect::of_path(&path) else {
            return request.respond(document(&other(&path)));
        };
        let conversation = dialect.read(&path, &body);
        let script = || self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let (selected, step) = script().next(&conversation);
        let id = format!("x{}", self.answers.fetch_add(1, Ordering::Relaxed));
        let reply = dialect.write(&step, &id, conversation.is_streamed);
        self.keep(Exchange { path, selected, step, request: body })?;
        match reply {
            Reply::Document(answer) => request.respond(document(&answer)),
            Reply::Events(text) => {
                request.respond(typed(Response::from_string(text), "text/event-stream"))
            }
        }
    }

    fn keep(&self, exchange: Exchange) -> io::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = &mut kept.record {
            writeln!(record, "{}", serde_json::to_string(&exchange)?)?;
        }
        kept.exchanges.push(exchange);
        Ok(())
    }
}

/// What agents ask besides the model itself: which models there are, and how many tokens a text has.
fn other(path: &str) -> Value {
    let path = path.split('?').next().unwrap_or(path);
    match path {
        _ if path.ends_with("/models") => {
            let model = json!({ "id": "scripted", "object": "model", "owned_by": "herma", "context_length": 200_000 });
            json!({ "object": "list", "data": [model] })
        }
        _ if path.ends_with(":countTokens") => json!({ "totalTokens": 10 }),
        _ if path.ends_with("/count_tokens") => json!({ "input_tokens": 10 }),
        _ => json!({}),
    }
}

fn document(answer: &Value) -> Response<Text> {
    typed(Response::from_string(answer.to_string()), "application/json")
}

fn typed(response: Response<Text>, content_type: &str) -> Response<Text> {
    match Header::from_bytes("Content-Type", content_type) {
        Ok(header) => response.with_header(header),
        Err(()) => response,
    }
}

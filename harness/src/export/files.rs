//! Files and their changes as lines of a shell script.

use super::Script;
use super::bash::SOCKET;
use herma_model::edit::Change;
use herma_model::files::SpecialKind;
use herma_model::{ByteString, Files, Node};

impl Script {
    pub(super) fn make_files(&mut self, files: &Files) {
        self.line("mkdir -p \"$ROOT\"/home/.hermes/checkpoints");
        for (path, node) in files.iter() {
            self.make(path, node);
        }
    }

    pub(super) fn make(&mut self, path: &ByteString, node: &Node) {
        let quoted = self.quoted_path(path);
        match node {
            Node::Directory => self.line(&format!("mkdir -p -- {quoted}")),
            Node::Special(SpecialKind::Fifo) => self.line(&format!("mkfifo -- {quoted}")),
            Node::Special(SpecialKind::Socket) => {
                if !self.text.contains(SOCKET) {
                    self.text.push_str(SOCKET);
                }
                self.line(&format!("make_socket {quoted}"));
            }
            Node::Link { target } => {
                let target = self.quoted(target);
                self.line(&format!("ln -s -- {target} {quoted}"));
            }
            Node::File { content, executable, readable } => {
                self.write(&quoted, content);
                if *executable || !*readable {
                    let mode = if *executable { 0o755 } else { 0o644 };
                    let mode = if *readable { mode } else { mode & 0o333 };
                    self.line(&format!("chmod {mode:o} -- {quoted}"));
                }
            }
        }
    }

    fn write(&mut self, path: &str, content: &[u8]) {
        // A shell word cannot hold zero bytes, so the format string holds them.
        let parts: Vec<&[u8]> = content.split(|byte| *byte == 0).collect();
        let format = vec!["%s"; parts.len()].join("\\0");
        let words: Vec<String> = parts.into_iter().map(|part| self.quoted(part)).collect();
        self.line(&format!("printf '{format}' {} > {path}", words.join(" ")));
    }

    pub(super) fn change(&mut self, change: &Change) {
        match change {
            Change::Remove(path) => {
                let quoted = self.quoted_path(path);
                self.line(&format!("rm -rf -- {quoted}"));
            }
            Change::Make(path, node) => self.make(path, node),
            Change::Rewrite(path, content) => {
                let quoted = self.quoted_path(path);
                self.line(&format!("touch -r {quoted} \"$ROOT\"/.before"));
                self.write(&quoted, content);
                self.line(&format!("touch -m -r \"$ROOT\"/.before -- {quoted}"));
                self.line("rm -- \"$ROOT\"/.before");
            }
            Change::SetReadable(path, readable) => {
                let quoted = self.quoted_path(path);
                let sign = if *readable { '+' } else { '-' };
                self.line(&format!("chmod u{sign}r -- {quoted}"));
            }
            Change::SetPermissions(path, bits) => {
                let quoted = self.quoted_path(path);
                self.line(&format!("chmod {bits:03o} -- {quoted}"));
            }
            Change::HardLink(path, to) => {
                let path = self.quoted_path(path);
                let to = self.quoted_path(to);
                self.line(&format!("ln -- {to} {path}"));
            }
            Change::Rename(from, to) => {
                let from = self.quoted_path(from);
                let to = self.quoted_path(to);
                self.line(&format!("mv -T -- {from} {to}"));
            }
        }
    }
}

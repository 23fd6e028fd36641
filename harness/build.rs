//! Lists the written cases, so that they are all bundled into the command.

use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=cases");
    // Read at run time, not compiled in: worktrees may share what they build.
    let folder =
        env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default().join("cases");
    let mut files: Vec<PathBuf> = Vec::new();
    for subject in fs::read_dir(folder)? {
        let subject = subject?.path();
        println!("cargo::rerun-if-changed={}", subject.display());
        for file in fs::read_dir(subject)? {
            files.push(file?.path());
        }
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        writeln!(list, "    ({file:?}, include_str!({file:?})),").map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("cases.rs"), list)
}

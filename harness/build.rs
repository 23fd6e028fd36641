//! Lists the written cases and the adapters of agents, so that they are all bundled into the command.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Read at run time, not compiled in: worktrees may share what they build.
    let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut cases: Vec<PathBuf> = Vec::new();
    println!("cargo::rerun-if-changed=cases");
    for subject in fs::read_dir(root.join("cases"))? {
        cases.extend(files(&subject?.path())?);
    }
    let agents = files(&root.join("agents"))?;
    write_list("cases.rs", cases, &root)?;
    write_list("agents.rs", agents, &root)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // Python may have left what it compiled.
        if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

/// Names each file by its path below the root: the command must not depend on where it was built.
fn write_list(name: &str, mut files: Vec<PathBuf>, root: &Path) -> io::Result<()> {
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(&file);
        writeln!(list, "    ({path:?}, include_str!({file:?})),").map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join(name), list)
}

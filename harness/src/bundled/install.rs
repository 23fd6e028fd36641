//! Installing a bundled subject into the cache folder: completely or not at all.
//!
//! Everything is fetched into a temporary folder in the cache folder, which is renamed at the end. No script
//! of a package runs, and nothing outside the cache folder is written.

use super::{Bundled, Packages};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The folder of the packages within a subject's folder.
pub const PACKAGES: &str = "packages";
/// The file that is written last, which marks a complete installation.
pub const DONE: &str = "installed";

/// Why a subject is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A required program is missing.
    #[error("`{0}` is not on this machine; nothing was installed")]
    NoProgram(&'static str),
    /// A program failed.
    #[error("`{command}` failed; nothing was installed\n{complaint}")]
    Failed {
        /// The command.
        command: String,
        /// Its output.
        complaint: String,
    },
    /// The cache folder cannot be written.
    #[error("the cache folder cannot be written: {0}")]
    Cache(#[from] io::Error),
}

/// Installs a subject below `cache`, unless it is installed already.
///
/// # Errors
/// [`InstallError`]; nothing is installed then.
pub fn install(bundled: &Bundled, cache: &Path) -> Result<(), InstallError> {
    if bundled.is_installed(cache) {
        return Ok(());
    }
    fs::create_dir_all(cache)?;
    let part = tempfile::Builder::new().prefix("part-").tempdir_in(cache)?;
    let packages = part.path().join(PACKAGES);
    fs::create_dir(&packages)?;
    match bundled.packages {
        Packages::Python(pinned) => python(pinned, part.path(), &packages)?,
        Packages::Node(pinned) => node(pinned, part.path(), &packages)?,
        Packages::Crate { manifest, lock } => {
            let sources = [("Cargo.toml", manifest), ("Cargo.lock", lock), bundled.adapter];
            build(&sources, part.path())?;
        }
        Packages::Debian(pinned) => debian(pinned, part.path(), &packages)?,
    }
    fs::write(part.path().join(DONE), bundled.full_name())?;
    let folder = bundled.folder(cache);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(part.keep(), folder)?;
    Ok(())
}

fn run(program: &'static str, mut command: Command) -> Result<(), InstallError> {
    let output = match command.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(InstallError::NoProgram(program));
        }
        output => output?,
    };
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    let complaint = String::from_utf8_lossy(&printed).trim().to_owned();
    Err(InstallError::Failed { command: format!("{command:?}"), complaint })
}

fn python(
    pinned: &[(&str, Option<&str>)],
    part: &Path,
    packages: &Path,
) -> Result<(), InstallError> {
    // If one package has a hash, pip requires hashes for all packages of the call, so each package is
    // installed by a separate call.
    for (requirement, hash) in pinned {
        let list = part.join("requirements.txt");
        let hash = hash.map_or_else(String::new, |hash| format!(" --hash=sha256:{hash}"));
        fs::write(&list, format!("{requirement}{hash}\n"))?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--no-input"]);
        pip.args(["--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"]);
        pip.arg("--target").arg(packages).arg("--requirement").arg(&list);
        run("python3", pip)?;
    }
    Ok(())
}

/// Installs a pinned Node package into `packages`; `part` is a working folder.
///
/// # Errors
/// [`InstallError`].
pub fn node(pinned: &str, part: &Path, packages: &Path) -> Result<(), InstallError> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"]);
    npm.args(["--loglevel=error", "--no-update-notifier", "--prefix"]).arg(packages);
    npm.arg("--cache").arg(part.join("npm-cache")).arg(pinned);
    run("npm", npm)?;
    Ok(fs::remove_dir_all(part.join("npm-cache"))?)
}

/// Builds the adapter of a crate. Cargo uses its usual cache for downloads.
fn build(sources: &[(&str, &str)], part: &Path) -> Result<(), InstallError> {
    for (name, text) in sources {
        fs::write(part.join(name), text)?;
    }
    let target = part.join("target");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--quiet", "--target-dir"]).arg(&target);
    cargo.current_dir(part);
    run("cargo", cargo)?;
    fs::rename(target.join("release/adapter"), part.join("adapter"))?;
    Ok(fs::remove_dir_all(target)?)
}

fn debian(pinned: &[&str], part: &Path, packages: &Path) -> Result<(), InstallError> {
    let mut download = Command::new("apt-get");
    download.args(["download", "--quiet"]).args(pinned).current_dir(part);
    run("apt-get", download)?;
    for entry in fs::read_dir(part)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("--extract").arg(&path).arg(packages);
            run("dpkg-deb", unpack)?;
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

//! A home whose git configuration would change every store that honours it, and programs that leave
//! a mark when they are run.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Git settings, each of which would change a store that honours it.
const HOSTILE_CONFIG: &str = "\
[user]
\tname = Hostile User
\temail = hostile@example.org
\tsigningkey = HOSTILE
[commit]
\tgpgsign = true
\ttemplate = HOSTILE/template
[tag]
\tgpgSign = true
[gpg]
\tprogram = HOSTILE/mark
[core]
\tautocrlf = true
\tsafecrlf = true
\texcludesFile = HOSTILE/ignore
\tattributesFile = HOSTILE/attributes
\thooksPath = HOSTILE/hooks
\tfsmonitor = HOSTILE/mark
\tsymlinks = false
\tfileMode = false
\tlogAllRefUpdates = always
\tsharedRepository = world
\teditor = HOSTILE/mark
\tpager = HOSTILE/mark
[init]
\ttemplateDir = HOSTILE/template.d
\tdefaultBranch = hostile
[credential]
\thelper = HOSTILE/mark
[filter \"hostile\"]
\tclean = HOSTILE/mark
\tsmudge = HOSTILE/mark
\trequired = true
[diff]
\texternal = HOSTILE/mark
\trenames = copies
\tnoprefix = true
[alias]
\tcommit = !HOSTILE/mark
\tadd = !HOSTILE/mark
[transfer]
\tfsckObjects = true
";

/// A single name that histories use. A store that honours it visibly loses that file; ignoring
/// everything would hide all other failures.
const IGNORE: &str = "lib.rs\n";

/// The file that exists once a program below `folder` was run.
pub fn mark(folder: &Path) -> PathBuf {
    folder.join("mark-left")
}

/// Plants the configuration in `home`, and what it names in `folder`.
pub fn plant(home: &Path, folder: &Path) -> io::Result<()> {
    let config = HOSTILE_CONFIG.replace("HOSTILE", &folder.to_string_lossy());
    let program = format!("#!/bin/sh\n: > '{}'\nexit 1\n", mark(folder).display());
    let attributes = "* text eol=crlf filter=hostile\n";
    for (directory, name, text) in [
        (home, ".gitconfig", &config[..]),
        (home, ".config/git/config", &config),
        (home, ".config/git/ignore", IGNORE),
        (home, ".config/git/attributes", attributes),
        (folder, "ignore", IGNORE),
        (folder, "attributes", attributes),
        (folder, "template", "hostile\n"),
        (folder, "template.d/info/exclude", "*\n"),
        (folder, "mark", &program),
        (folder, "hooks/pre-commit", &program),
        (folder, "hooks/reference-transaction", &program),
    ] {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(&path, text)?;
        if text == program {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

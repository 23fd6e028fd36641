//! A home whose git configuration would change every store that honours it, and programs that leave a
//! mark when they are run.

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
\tfsmonitor = HOSTILE/run fsmonitor
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
\tclean = HOSTILE/run filter
\tsmudge = HOSTILE/run filter
\trequired = true
[diff]
\texternal = HOSTILE/run diff
\trenames = copies
\tnoprefix = true
[alias]
\tcommit = !HOSTILE/run alias
\tadd = !HOSTILE/run alias
[transfer]
\tfsckObjects = true
";

/// An ignore pattern for a single name that histories use. A store that honours it visibly loses that
/// file; ignoring everything would hide all other failures.
const IGNORE: &str = "lib.rs\n";

/// The file that exists once a signing or prompting program below `folder` was run.
pub fn mark(folder: &Path) -> PathBuf {
    folder.join("mark-left")
}

/// The file that exists once a hook or another configured program below `folder` was run. It holds the
/// name of the first.
pub fn hooked(folder: &Path) -> PathBuf {
    folder.join("hook-ran")
}

/// Writes the configuration into `home`, and the files that it names into `folder`.
pub fn plant(home: &Path, folder: &Path) -> io::Result<()> {
    let config = HOSTILE_CONFIG.replace("HOSTILE", &folder.to_string_lossy());
    let program = format!("#!/bin/sh\n: > '{}'\nexit 1\n", mark(folder).display());
    let hook = format!(
        "#!/bin/sh\nname=${{0##*/}}\n[ \"$name\" != run ] || name=$1\n[ -e '{0}' ] || echo \"$name\" > \
         '{0}'\nexit 1\n",
        hooked(folder).display()
    );
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
        (folder, "run", &hook),
        (folder, "hooks/pre-commit", &hook),
        (folder, "hooks/reference-transaction", &hook),
    ] {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(&path, text)?;
        if text == program || text == hook {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

//! Which programs change files, and because of which word.

use super::Why;
use super::options::{is_option, may_be_option, runs_or_writes, sets_program};
use super::shell::{Simple, Word};
use super::{git, readers};

/// When a program changes files.
enum When {
    /// Whatever its arguments are.
    Always,
    /// With one of these options. A short one also counts within a cluster, a long one also with a value
    /// after `=`. The second list contains the short options with a value, which ends a cluster.
    With(&'static [&'static str], &'static str),
    /// With exactly one of these words.
    WithWord(&'static [&'static str]),
    /// Without any of these options.
    Without(&'static [&'static str], &'static str),
    /// With one of these commands among its arguments, and none of these options.
    Command(&'static [&'static str], &'static [&'static str]),
    /// With any argument that is neither an option nor a device.
    Operand,
    /// Without any of these options, unless its last argument is on another host.
    Copies(&'static [&'static str]),
}
use When::{Always, Command, Copies, Operand, With, WithWord, Without};

/// The programs, several to a line.
const PROGRAMS: &[(&[&str], When)] = &[
    (&["rm", "rmdir", "unlink", "cp", "install", "mv", "truncate", "dd", "shred"], Always),
    (&["srm", "wipe", "ed", "ex", "split", "csplit", "mkdir", "touch", "chmod", "mkfifo"], Always),
    (&["rsync"], Copies(&["-n", "--dry-run", "--list-only"])),
    (&["scp"], Copies(&[])),
    (&["patch"], Without(&["--dry-run"], "")),
    (&["rename", "prename"], Without(&["-n", "--no-act", "--nono"], "")),
    (&["cpio", "fallocate", "trash", "trash-put", "mkfs", "sponge", "dos2unix"], Always),
    (&["unzip"], Without(&["-l", "-p", "-t", "-v", "-Z"], "dxP")),
    (&["unix2dos", "nano", "emacs", "script", "replace", "convert", "mogrify"], Always),
    (&["vi", "vim", "nvim"], Without(&["-R"], "")),
    (&["vi", "vim", "nvim"], With(&["-c", "-S", "-s", "-u", "-w", "-W", "--cmd"], "T")),
    (&["tee"], Operand),
    (&["sed", "gsed"], With(&["-i", "--in-place"], "efl")),
    (&["perl", "ruby"], With(&["-i"], "eEIMmrCFx")),
    (&["rg"], With(&["--pre", "--hostname-bin"], "")),
    (&["strace"], With(&["-o", "--output"], "abeEIOpPsSuUX")),
    (&["ltrace"], With(&["-o", "--output"], "aAeFlnpsuwxX")),
    (&["time"], With(&["-o", "--output"], "f")),
    (&["tree"], With(&["-o", "-R"], "")),
    (&["iconv"], With(&["-o", "--output"], "ft")),
    (&["shuf"], With(&["-o", "--output"], "in")),
    (&["xmllint"], With(&["--output", "-output", "--shell", "-shell"], "")),
    (&["xmllint"], WithWord(&["-o"])),
    (&["awk", "gawk", "mawk", "nawk"], WithWord(&["inplace"])),
    (
        &["awk", "gawk", "mawk", "nawk"],
        With(&["-d", "-D", "-E", "-e", "-o", "-p", "-W", "--dump-variables", "--debug"], "Ffilv"),
    ),
    (
        &["awk", "gawk", "mawk", "nawk"],
        With(&["--exec", "--source", "--pretty-print", "--profile"], ""),
    ),
    (&["less", "zless"], With(&["-o", "-O", "-k", "--log-file", "--LOG-FILE"], "bhjpPtTxyz")),
    (&["less", "zless"], With(&["--lesskey-file", "--lesskey-src", "--lesskey-content"], "")),
    (&["bat", "ag", "ack", "ugrep"], With(&["--pager"], "")),
    (&["ugrep"], With(&["--filter", "--save-config", "--view"], "")),
    (&["alias"], With(&["-g", "-s"], "")),
    (&["hash"], With(&["-p"], "")),
    (&["cloc"], With(&["--out", "--report-file", "--write-lang-def"], "")),
    (&["info"], With(&["-o", "--output"], "dfkn")),
    (&["file"], With(&["-C", "--compile"], "fFmeP")),
    (&["ssh"], With(&["-E"], "BbcDeFIiJLlmOopQRSWw")),
    (
        &["nc", "ncat"],
        With(&["-o", "-x", "-e", "-c", "--output", "--exec", "--sh-exec"], "ipwdgGs"),
    ),
    (&["ip"], Command(&["exec"], &[])),
    (&["mapfile", "readarray"], With(&["-C"], "dnOsuc")),
    (&["man"], With(&["-P", "-H", "--pager", "--html"], "CLRmMsSerpTE")),
    (&["compgen"], With(&["-C", "-F"], "AGPSWXo")),
    (&["yq"], With(&["-i", "--inplace", "--in-place"], "")),
    (&["sort"], With(&["-o", "--output", "--compress-program"], "kStT")),
    (&["ln", "link"], Always),
    (&["find", "gfind"], With(&["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"], "")),
    (&["wget"], Without(&["--spider", "-qO-", "-O-"], "")),
    (&["wget"], With(&["-o", "-a", "-e", "--output-file", "--append-output"], "BDiIlOPQRtTUwX")),
    (&["wget"], With(&["--save-cookies", "--hsts-file", "--warc-file", "--rejected-log"], "")),
    (&["wget"], With(&["--config", "--execute", "--use-askpass"], "")),
    (
        &["tar", "gtar", "bsdtar"],
        Without(&["-t", "--list", "-O", "--to-stdout", "t", "tf", "tvf", "tzf", "tvzf"], "fCbX"),
    ),
    (&["tar", "gtar", "bsdtar"], With(&["-c", "-r", "-u", "-A", "-F", "-I"], "fCbgKNTVX")),
    (&["tar", "gtar", "bsdtar"], WithWord(&["cf", "cvf", "czf", "cvzf", "rf", "rvf", "uf", "uvf"])),
    (&["tar", "gtar", "bsdtar"], With(&["--create", "--append", "--update", "--delete"], "")),
    (&["tar", "gtar", "bsdtar"], With(&["--catenate", "--concatenate", "--index-file"], "")),
    (&["tar", "gtar", "bsdtar"], With(&["--use-compress-program", "--to-command"], "")),
    (&["tar", "gtar", "bsdtar"], With(&["--checkpoint-action", "--info-script"], "")),
    (&["tar", "gtar", "bsdtar"], With(&["--new-volume-script", "--rsh-command"], "")),
    (&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd"], COMPRESSES),
    (&["compress", "uncompress"], COMPRESSES),
    (&["zip", "strip", "ffmpeg", "magick"], Always),
    (&["7z", "7za", "7zr"], Command(&["a", "d", "e", "rn", "u", "x"], &["-so"])),
    (&["gcc", "g++", "cc", "c++", "clang", "clang++"], Without(&["-E", "-fsyntax-only"], "DIUlLo")),
    (&["rustc"], Without(&["--print"], "CLlo")),
    (&["tsc"], Without(&["--noEmit", "-v", "--showConfig", "--listFilesOnly"], "")),
    (&["esbuild"], With(&["--outfile", "--outdir"], "")),
    (&["pandoc"], With(&["-o", "--output"], "ftsV")),
    (&["openssl"], With(&["-out", "-keyout", "-writerand", "-CAcreateserial"], "")),
    (&["openssl"], With(&["-engine", "-provider", "-provider-path", "-config"], "")),
    (&["gpg", "gpg2"], With(&["-e", "-c", "-s", "-b", "--encrypt", "--symmetric"], "uro")),
    (&["gpg", "gpg2"], With(&["--sign", "--clearsign", "--detach-sign", "-o", "--output"], "ur")),
    // Without a command it writes what it decrypts.
    (&["gpg", "gpg2"], Without(GPG_READS, "ur")),
    (&["cargo"], Command(&["clean", "fmt", "fix", "add", "remove", "init", "new"], &["--check"])),
    (&["cargo"], With(&["--fix"], "")),
    (&["go"], Command(&["fmt", "fix", "get", "generate", "mod"], &[])),
    (&["go"], With(&["-toolexec", "--toolexec", "-vettool", "--vettool", "-fix", "-w"], "")),
    (&["go"], WithWord(&["-mod=mod", "--mod=mod"])),
    (&["npm", "pnpm", "yarn", "bun"], Command(&["run", "run-script", "install", "i", "ci"], &[])),
    (&["npm", "pnpm", "yarn", "bun"], Command(&["add", "remove", "uninstall", "update"], &[])),
    (&["npm", "pnpm", "yarn", "bun"], Command(&["init", "version", "dedupe"], &[])),
    (&["gh"], Command(&["clone", "checkout", "download"], &[])),
    (&["gofmt", "goimports", "shfmt"], With(&["-w"], "")),
    (&["clang-format"], With(&["-i"], "")),
    (&["prettier"], With(&["-w", "--write"], "")),
    (&["black", "isort", "autopep8", "rustfmt"], Without(&["--check", "--diff", "-c"], "")),
];
const GPG_READS: &[&str] = &[
    "-d",
    "-k",
    "-K",
    "--decrypt",
    "--fingerprint",
    "--list-keys",
    "--list-packets",
    "--list-secret-keys",
    "--verify",
];
const COMPRESSES: When = Without(&["-c", "-t", "-l", "--stdout", "--test", "--list"], "S");

/// Options with which a program that copies changes its source, or runs something or writes a file here.
const COPY_OPTIONS: &[&str] =
    &["--remove-source-files", "--log-file", "--rsync-path", "--write-batch", "--only-write-batch"];

/// What a command does to files, apart from the commands that it runs.
pub enum FileEffect<'a> {
    /// It changes some, because of this word.
    Changes(Why, &'a Word),
    /// It changes none.
    Nothing,
    /// It is not known.
    Unknown,
}

/// What a command does to files, apart from the commands that it runs.
pub fn effect(command: &Simple) -> FileEffect<'_> {
    let Some((program, arguments)) = command.words.split_first() else {
        return FileEffect::Nothing;
    };
    let name = name(program);
    let asks_for_help = |word: &Word| ["--help", "--version"].contains(&&*word.text);
    if arguments.len() == 1 && arguments.iter().any(asks_for_help) {
        return FileEffect::Nothing;
    }
    if name == "git" {
        return git::effect(arguments);
    }
    if ["ssh", "scp"].contains(&name)
        && let Some(word) = sets_program(arguments)
    {
        return FileEffect::Changes(Why::Options, word);
    }
    if name == "curl" {
        return downloaded(arguments)
            .map_or(FileEffect::Nothing, |word| FileEffect::Changes(Why::Options, word));
    }
    let is_named = |(names, _): &&(&[&str], When)| {
        names.contains(&name) || name.starts_with("mkfs.") && names.contains(&"mkfs")
    };
    let rows = || PROGRAMS.iter().filter(is_named);
    if let Some((why, word)) = rows().find_map(|(_, when)| when.reason(program, arguments)) {
        return FileEffect::Changes(why, word);
    }
    let is_listed = || rows().next().is_some();
    match readers::changes_nothing(name, arguments).unwrap_or_else(is_listed) {
        false => FileEffect::Unknown,
        true if readers::ONLY_PRINT.contains(&name) => FileEffect::Nothing,
        // rule: turn/safe-side
        true => runs_or_writes(arguments)
            .map_or(FileEffect::Nothing, |word| FileEffect::Changes(Why::Options, word)),
    }
}

impl When {
    /// The word because of which a program changes files, and why.
    fn reason<'a>(&self, program: &'a Word, arguments: &'a [Word]) -> Option<(Why, &'a Word)> {
        let option = |options: &[&str], valued: &str| {
            arguments.iter().find(|word| is_option(word, options, valued))
        };
        let dangerous = |options: &[&str], valued: &str| {
            let word = arguments.iter().find(|word| may_be_option(word, options, valued))?;
            Some((Why::Options, word))
        };
        let is_program = |holds: bool| holds.then_some((Why::Program, program));
        match self {
            Always => is_program(true),
            With(options, valued) => dangerous(options, valued),
            WithWord(words) => {
                let word = arguments.iter().find(|word| words.contains(&&*word.text))?;
                Some((Why::Options, word))
            }
            Without(options, valued) => is_program(option(options, valued).is_none()),
            Command(options, harmless) => {
                let word = arguments.iter().find(|word| options.contains(&&*word.text))?;
                option(harmless, "").is_none().then_some((Why::Options, word))
            }
            Operand => {
                let is_file =
                    |word: &Word| !word.text.starts_with('-') && !word.text.starts_with("/dev/");
                is_program(arguments.iter().any(is_file))
            }
            Copies(harmless) => {
                let shell = || shell_of_copy(arguments).map(|word| (Why::Options, word));
                if let Some(found) = dangerous(COPY_OPTIONS, "").or_else(shell) {
                    return Some(found);
                }
                let is_elsewhere = |word: &Word| {
                    let host = word.text.split('/').next().unwrap_or_default();
                    host.contains(':')
                };
                let is_target_elsewhere = arguments.last().is_some_and(is_elsewhere);
                is_program(!is_target_elsewhere && option(harmless, "e").is_none())
            }
        }
    }
}

/// The option of `rsync` that names the program with which it reaches the other host, unless that is `ssh`.
fn shell_of_copy(arguments: &[Word]) -> Option<&Word> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if !may_be_option(word, &["-e", "--rsh"], "BfMT") {
            continue;
        }
        let is_separate = word.text == "--rsh" || word.text.find('e') == Some(word.text.len() - 1);
        let is_ssh = match is_separate {
            true => words.next().is_some_and(|next| next.text == "ssh"),
            false => ["-essh", "--rsh=ssh"].contains(&&*word.text),
        };
        if !is_ssh {
            return Some(word);
        }
    }
    None
}

/// The option of `curl` that writes the response to a file; `None` if it goes to a device or to
/// standard output.
fn downloaded(arguments: &[Word]) -> Option<&Word> {
    const NAMED: &[&str] = &[
        "-O",
        "-J",
        "-c",
        "-K",
        "--remote-name",
        "--remote-name-all",
        "--remote-header-name",
        "--cookie-jar",
        "--trace",
        "--trace-ascii",
        "--etag-save",
        "--libcurl",
        "--stderr",
        "--hsts",
        "--alt-svc",
        "--ssl-sessions",
        "--config",
    ];
    const OUTPUTS: &[&str] = &["-o", "-D", "--output", "--dump-header"];
    let valued = "HdXuAbceFmrtTwxyYz";
    let is_file = |word: &Word| word.text != "-" && !word.text.starts_with("/dev/");
    let mut pairs = arguments.iter().zip(arguments.iter().skip(1).map(Some).chain([None]));
    pairs.find_map(|(word, next)| {
        let is_output = may_be_option(word, OUTPUTS, valued);
        let is_to_file = match word.text.split_once('=') {
            Some((_, value)) => value != "-" && !value.starts_with("/dev/"),
            None => next.is_none_or(is_file),
        };
        (may_be_option(word, NAMED, valued) || is_output && is_to_file).then_some(word)
    })
}

/// The name of a program without its folder.
pub fn name(program: &Word) -> &str {
    program.text.rsplit('/').next().unwrap_or_default()
}

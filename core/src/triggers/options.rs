//! Which words of a command are options, and which options of any program run another one or write a file.

use super::shell::Word;

/// Words in the name of a long option that runs a program or writes a file, whatever program has it.
const DANGEROUS_PARTS: &[&str] = &[
    "command", "editor", "exec", "hook", "hooks", "inplace", "logfile", "outfile", "pager",
    "plugin", "plugins", "program", "rsh", "save", "script", "write",
];
/// Pairs of such words that are dangerous together.
const DANGEROUS_PAIRS: &[&str] = &["in-place", "log-file", "out-file", "output-file"];

/// Settings of `ssh -o` that neither run a program nor write a file.
const SSH_HARMLESS: &[&str] = &[
    "addressfamily",
    "batchmode",
    "checkhostip",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "forwardagent",
    "hostkeyalgorithms",
    "hostname",
    "identitiesonly",
    "identityfile",
    "loglevel",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "proxyjump",
    "pubkeyauthentication",
    "requesttty",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "tcpkeepalive",
    "user",
    "userknownhostsfile=/dev/null",
];

/// Whether a word is one of these options, also in a cluster or with a value.
pub fn is_option(word: &Word, options: &[&str], valued: &str) -> bool {
    options.iter().any(|option| match option.as_bytes() {
        [b'-', letter] if *letter != b'-' => has_letter(&word.text, char::from(*letter), valued),
        _ => word.text == *option || name_of(word) == *option,
    })
}

/// As [`is_option`], also if a long option is abbreviated: most programs take every beginning of a name that no
/// other option has. An option that makes a program harmless must be complete.
pub fn may_be_option(word: &Word, options: &[&str], valued: &str) -> bool {
    let name = name_of(word);
    let is_long = name.starts_with("--") && name.len() > 2;
    let is_abbreviated =
        |option: &&str| is_long && option.starts_with("--") && option.starts_with(name);
    is_option(word, options, valued) || options.iter().any(is_abbreviated)
}

/// An option without the value that follows its name.
fn name_of(word: &Word) -> &str {
    word.text.split_once('=').map_or(&*word.text, |(name, _)| name)
}

/// Whether a cluster of short options contains this one, before an option whose value is the rest.
fn has_letter(text: &str, letter: char, valued: &str) -> bool {
    let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    let end =
        cluster.find(|option| valued.contains(option) && option != letter).unwrap_or(cluster.len());
    cluster[..end].contains(letter)
}

/// The first long option whose name says that it runs a program or writes a file. No table can list those of all
/// programs.
pub fn runs_or_writes(arguments: &[Word]) -> Option<&Word> {
    let mut options = arguments.iter().take_while(|word| word.text != "--");
    options.find(|word| {
        let Some(name) = name_of(word).strip_prefix("--") else { return false };
        !name.starts_with("no-")
            && (name.split('-').any(|part| DANGEROUS_PARTS.contains(&part))
                || DANGEROUS_PAIRS.iter().any(|pair| name.contains(pair)))
    })
}

/// The option of `ssh` or `scp` with a setting that may run a program or write a file, such as `ProxyCommand`, or
/// with a file of settings or a program.
pub fn sets_program(arguments: &[Word]) -> Option<&Word> {
    const VALUED: &str = "BbcDeEiIJLlmOpPQRWwX";
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if is_option(word, &["-F", "-S"], "BbcDeEiIJLlmoOpPQRWwX") {
            return Some(word);
        }
        if !is_option(word, &["-o"], VALUED) {
            continue;
        }
        let attached = word.text.split_once('o').map_or("", |(_, setting)| setting);
        let setting = match attached {
            "" => words.next().map_or("", |next| &next.text),
            attached => attached,
        };
        let setting = setting.trim().to_ascii_lowercase();
        let key = setting.split(['=', ' ']).next().unwrap_or_default();
        if !SSH_HARMLESS.contains(&key) && !SSH_HARMLESS.contains(&&*setting) {
            return Some(word);
        }
    }
    None
}

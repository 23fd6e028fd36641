//! Which commands cannot be undone easily: they delete, push by force, migrate a database
//! destructively, or change files in masses.
//!
//! Each simple command is judged by its own words, including the commands that other commands run. A
//! program that is not listed counts as harmless.

use super::each_command;
use super::shell::Simple;
use super::table::name;

/// Why a command line is of high risk, in words for people; `None` if it is not.
///
/// ```
/// use herma_core::triggers::risk;
///
/// assert_eq!(risk("cd build && rm -rf ."), Some("it deletes files"));
/// assert_eq!(risk("git push --force origin main"), Some("it force-pushes"));
/// assert_eq!(risk("git push origin main"), None);
/// ```
// rule: agent/triggers
pub fn risk(command: &str) -> Option<&'static str> {
    let mut found = None;
    each_command(command, &mut |command| found = found.or_else(|| risk_of(command)));
    found
}

const DELETES: &str = "it deletes files";
const FORCES: &str = "it force-pushes";
const DISCARDS: &str = "it discards changes";
const MIGRATES: &str = "it may delete data of a database";
const MASSES: &str = "it may change many files";
const OVERWRITES: &str = "it overwrites an entire file or disk";

/// A program, words of which one must be present, and what it does then. Without words it always does.
/// An option of one letter is also found in a cluster, as in `-rf`.
const RISKS: &[(&str, &[&str], &str)] = &[
    ("rm", &[], DELETES),
    ("rmdir", &[], DELETES),
    ("unlink", &[], DELETES),
    ("shred", &[], DELETES),
    ("find", &["-delete"], DELETES),
    ("rsync", &["--delete", "--delete-after", "--delete-before"], DELETES),
    ("dd", &[], OVERWRITES),
    ("truncate", &[], OVERWRITES),
    ("wipefs", &[], OVERWRITES),
    ("sed", &["-i", "--in-place"], MASSES),
    ("dropdb", &[], MIGRATES),
];

/// A command of git, words of which one must be present, and what it does then.
const GIT: &[(&str, &[&str], &str)] = &[
    ("push", &["-f", "--force", "--force-with-lease", "--mirror", "--delete"], FORCES),
    ("reset", &["--hard"], DISCARDS),
    ("clean", &["-f", "--force"], DELETES),
    ("checkout", &["-f", "--force"], DISCARDS),
    ("rm", &[], DELETES),
    ("filter-branch", &[], DISCARDS),
];

/// Words of SQL that lose data, wherever a client of a database is given them.
const SQL: &[&str] =
    &["drop table", "drop database", "drop column", "truncate table", "delete from"];
const CLIENTS: &[&str] = &["psql", "mysql", "mariadb", "sqlite3"];

/// A migration tool, and its words that revert migrations or start over.
const MIGRATIONS: &[(&str, &[&str])] = &[
    ("alembic", &["downgrade"]),
    ("rails", &["db:drop", "db:reset", "db:rollback"]),
    ("rake", &["db:drop", "db:reset", "db:rollback"]),
    ("prisma", &["reset"]),
    ("flyway", &["clean"]),
    ("dbmate", &["drop", "down", "rollback"]),
    ("knex", &["migrate:rollback", "migrate:down"]),
];

fn risk_of(command: &Simple) -> Option<&'static str> {
    let program = name(command.words.first()?);
    let words: Vec<&str> = command.words[1..].iter().map(|word| &word.text[..]).collect();
    let is_risky = |(risky, required, _): &&(&str, &[&str], &str)| {
        *risky == program && has_any(&words, required)
    };
    if let Some((_, _, why)) = RISKS.iter().find(is_risky) {
        return Some(why);
    }
    if program == "git" {
        let is_risky = |(subcommand, required, _): &&(&str, &[&str], &str)| {
            words.contains(subcommand) && has_any(&words, required)
        };
        return GIT.iter().find(is_risky).map(|(_, _, why)| *why);
    }
    let loses = |text: &&str| SQL.iter().any(|sql| text.to_ascii_lowercase().contains(sql));
    if CLIENTS.contains(&program) {
        return words.iter().any(loses).then_some(MIGRATES);
    }
    let is_destructive =
        |(tool, required): &&(&str, &[&str])| *tool == program && has_any(&words, required);
    MIGRATIONS.iter().find(is_destructive).map(|_| MIGRATES)
}

fn has_any(words: &[&str], required: &[&str]) -> bool {
    let is_meant = |word: &str, wanted: &str| {
        let letter = wanted.strip_prefix('-').filter(|letter| letter.len() == 1);
        let is_in_cluster = |letter: &str| {
            word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
        };
        word == wanted || letter.is_some_and(is_in_cluster)
    };
    required.is_empty()
        || words.iter().any(|word| required.iter().any(|wanted| is_meant(word, wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risk_names_why_a_command_cannot_be_undone_easily() {
        for (command, why) in [
            ("rm a", DELETES),
            ("sudo rm -rf build", DELETES),
            ("sh -c 'git clean -fdx'", DELETES),
            ("find . -name '*.o' -delete", DELETES),
            ("git push -f", FORCES),
            ("git push origin +main --force-with-lease", FORCES),
            ("git -C sub reset --hard HEAD~3", DISCARDS),
            ("psql -c 'DROP TABLE users'", MIGRATES),
            ("alembic downgrade -1", MIGRATES),
            ("grep -rl old | xargs sed -i s/old/new/", MASSES),
            ("dd if=/dev/zero of=disk", OVERWRITES),
        ] {
            assert_eq!(risk(command), Some(why), "{command}");
        }
    }

    #[test]
    fn risk_is_none_for_commands_that_only_read_or_add() {
        for command in [
            "ls -f",
            "git push",
            "git reset HEAD a.txt",
            "echo rm -rf /",
            "psql -c 'select 1'",
            "alembic upgrade head",
            "sed s/a/b/ file",
            "touch a",
            "mv a b",
        ] {
            assert_eq!(risk(command), None, "{command}");
        }
    }
}

//! Every capability that can be claimed, for people and programs: its meaning, its values, its operations
//! and answer fields, and the rules that need it. `capabilities` holds what claims mean for judging.

use super::known::{FOLDER_PERMISSIONS, OWN_IGNORE_FILE, SIZES, known};
use crate::nearest::nearest;
use herma_model::request::{REQUESTS, RequestKind};
use herma_model::rules;
use serde::Serialize;

/// A capability by name, the fields that its answers need, and synonyms.
struct Row(&'static str, &'static [&'static str], &'static [&'static str]);

/// The capabilities that have answer fields or synonyms.
const ROWS: &[Row] = &[
    Row("ensure_checkpoint", &[], &["auto", "automatic", "once", "per"]),
    Row("before_tool", &["projects[].project", "projects[].taken"], &["hook", "trigger", "patch"]),
    Row("checkpoint", &[], &["snapshot", "save", "backup", "manual", "create"]),
    Row("take.unchanged", &["outcome"], &["dedup", "deduplicate", "skip", "noop", "identical"]),
    Row("take.declines_empty", &["outcome"], &["nothing", "blank"]),
    Row(
        "take.skipped",
        &["skipped[].path", "skipped[].why"],
        &["unreadable", "omitted", "warnings"],
    ),
    Row(OWN_IGNORE_FILE, &[], &["hermaignore", "excludes"]),
    Row("diff", &["entries"], &["compare", "preview", "changes"]),
    Row("diff.stats", &["stats"], &["lines", "counts", "insertions", "deletions"]),
    Row("list.reason", &["checkpoints[].reason"], &["message", "comment", "label"]),
    Row("list.printed", &["checkpoints", "printed"], &["text", "page", "display", "formatted"]),
    Row("list.stats", &["checkpoints[].stats"], &["lines", "counts"]),
    Row("target.number", &[], &["index", "ordinal"]),
    Row("target.stable_number", &["checkpoints[].number"], &["renumber", "same", "undo"]),
    Row("target.short", &[], &["prefix", "abbreviated", "hash"]),
    Row("restore.exact", &[], &["clean", "delete", "mirror"]),
    Row(FOLDER_PERMISSIONS, &[], &["mode", "chmod", "directory"]),
    Row("restore.leaves_new", &[], &["untracked", "keep"]),
    Row("restore.safety", &["safety"], &["undo", "backup", "before"]),
    Row("restore.force", &["forced_past"], &["override"]),
    Row("restore.consumes", &[], &["stack", "pop", "undo", "once"]),
    Row("restore.report", &["restored", "removed", "left", "kept", "failed"], &["paths"]),
    Row("restore.undoes_turn", &["undoes_turn"], &["conversation", "message", "chat"]),
    Row("restore.undo", &[], &["redo", "back", "forward", "stack"]),
    Row("restore.latest", &[], &["newest", "recent", "undo"]),
    Row("state", &["value"], &["agent", "kanban", "goal", "memory", "parts"]),
    Row("label", &[], &["name", "tag", "bookmark"]),
    Row("pin", &[], &["protect", "keep", "unpin"]),
    Row("external", &["external"], &["actions", "side", "effects"]),
    Row("external.compensate", &["compensated", "failed"], &["saga", "revert"]),
    Row("event", &["outcome"], &["trigger", "milestone"]),
    Row("subagent", &[], &["child", "delegate", "handoff"]),
    Row("restore.file", &[], &["path", "single", "partial"]),
    Row("settings.max_file_bytes", &[], &["size", "large", "cap"]),
    Row("settings.max_files", &[], &["count", "cap"]),
    Row("settings.max_snapshots", &[], &["retention", "history", "keep", "cap"]),
    Row("settings.max_total_bytes", &[], &["quota", "disk", "size", "cap"]),
    Row("prune", &["counts"], &["gc", "garbage", "cleanup", "expire", "purge"]),
    Row("prune.as_configured", &["counts"], &["defaults"]),
    Row(
        "config",
        &[
            "enabled",
            "max_snapshots",
            "max_total_size_mb",
            "max_file_size_mb",
            "auto_prune",
            "retention_days",
            "delete_orphans",
            "min_interval_hours",
        ],
        &["yaml", "keys"],
    ),
    Row("sweep", &["counts"], &["startup", "cleanup"]),
    Row("status", &["projects"], &["info", "stat"]),
    Row("clear", &[], &["wipe", "reset", "delete"]),
    Row("test.clock", &[], &["time", "now"]),
    Row("layout", &[], &["git", "format"]),
];

/// One capability.
#[derive(Debug, Serialize)]
pub struct Claim {
    /// Its name.
    pub name: &'static str,
    /// What it means, in a sentence.
    pub meaning: &'static str,
    /// The values that may be claimed.
    pub values: &'static str,
    /// The operations that are only requested if it is claimed.
    pub operations: Vec<&'static str>,
    /// The fields that its answers need.
    pub fields: &'static [&'static str],
    /// The rules that are judged if it is claimed, and everything else that they need.
    pub rules: Vec<&'static str>,
}

impl Claim {
    /// Whether it is a size, for which a unit may be claimed.
    pub fn is_size(&self) -> bool {
        SIZES.contains(&self.name)
    }

    /// Whether it is the name of the own ignore file.
    pub fn is_name(&self) -> bool {
        self.name == OWN_IGNORE_FILE
    }

    /// Its operations, answer fields and rules, each as a text with a title; empty lists are omitted.
    fn parts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let parts = [
            ("operations", &self.operations[..]),
            ("answers need", self.fields),
            ("rules", &self.rules),
        ];
        let nonempty = parts.into_iter().filter(|(_, names)| !names.is_empty());
        nonempty.map(|(title, names)| (title, names.join(", "))).collect::<Vec<_>>().into_iter()
    }
}

/// Every capability, in reading order.
pub fn claims() -> Vec<Claim> {
    let needs = |kind: &&RequestKind, name: &str| {
        kind.capability.is_some_and(|capability| capability.0 == name)
    };
    let claim = |(name, meaning): (&'static str, &'static str)| Claim {
        name,
        meaning,
        values: match name {
            OWN_IGNORE_FILE => "false, or the name of the file",
            _ if SIZES.contains(&name) => {
                "true, false, or a number of bytes of which it must be a multiple"
            }
            _ => "true or false",
        },
        operations: REQUESTS
            .iter()
            .filter(|kind| needs(kind, name))
            .map(|kind| kind.name)
            .collect(),
        fields: row(name).map_or(&[], |row| row.1),
        rules: rules::catalogue()
            .filter(|rule| rule.needs.contains(&name))
            .map(|rule| rule.id)
            .collect(),
    };
    known().map(claim).collect()
}

/// All capabilities, as text for people.
pub fn text() -> String {
    let mut text = String::new();
    for claim in claims() {
        text.push_str(&format!("{}: {}\n", claim.name, claim.meaning));
        if claim.is_size() || claim.is_name() {
            text.push_str(&format!("  values:      {}\n", claim.values));
        }
        for (title, names) in claim.parts() {
            text.push_str(&format!("  {:<12} {names}\n", format!("{title}:")));
        }
    }
    text
}

/// All capabilities, as a page in Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# What an adapter can claim\n\nWritten by the suite; `herma-conform capabilities` prints \
         the same. The suite requests only operations whose capability is claimed, and rules that \
         need a capability that is not claimed are *not applicable*. `list` and `restore` need no \
         capability: they are always requested.\n",
    );
    for claim in claims() {
        page.push_str(&format!("\n**`{}`**: {}\n", claim.name, claim.meaning));
        if claim.is_size() || claim.is_name() {
            page.push_str(&format!("- values: {}\n", claim.values));
        }
        for (title, names) in claim.parts() {
            page.push_str(&format!("- {title}: {names}\n"));
        }
    }
    page
}

/// All capabilities, as JSON for programs.
pub fn json() -> String {
    serde_json::to_string_pretty(&claims()).expect("claims are plain data") + "\n"
}

/// The capability that an unknown name probably means: by its words, or if none matches, by its letters.
pub(super) fn closest(name: &str) -> &'static str {
    let wanted = words(name);
    let score = |(capability, meaning): &(&str, &str)| {
        let synonyms: Vec<String> = row(capability)
            .map_or(&[][..], |row| row.2)
            .iter()
            .map(|word| (*word).to_owned())
            .collect();
        let hits = |of: Vec<String>| {
            wanted
                .iter()
                .filter(|word| of.iter().any(|candidate| is_similar(word, candidate)))
                .count()
        };
        // A synonym counts more than a word of the name, and that more than a word of the meaning.
        4 * hits(synonyms) + 3 * hits(words(capability)) + hits(words(meaning))
    };
    let score_max = known().map(|candidate| score(&candidate)).max().unwrap_or_default();
    let best =
        known().filter(|candidate| score(candidate) == score_max).map(|(capability, _)| capability);
    nearest(name, best)
}

fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.0 == name)
}

/// The words of a name or sentence, in lower case.
fn words(text: &str) -> Vec<String> {
    let is_separator = |character: char| !character.is_alphanumeric();
    let parts = text.split(is_separator).filter(|part| part.len() > 2);
    parts.map(str::to_lowercase).collect()
}

/// Whether two words differ only in their endings.
fn is_similar(left: &str, right: &str) -> bool {
    const STEM: usize = 4;
    let stem = |word: &str| word.get(..STEM).map(str::to_owned);
    left == right || stem(left).is_some_and(|prefix| stem(right) == Some(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_list_the_operations_and_the_rules_of_each_capability() {
        let all_claims = claims();
        let of = |name: &str| all_claims.iter().find(|claim| claim.name == name).unwrap();
        assert_eq!(of("diff").operations, ["diff"]);
        assert!(of("restore.exact").rules.contains(&"restore/exact"));
        assert!(of("settings.max_total_bytes").values.contains("bytes"));
        assert!(ROWS.iter().all(|row| all_claims.iter().any(|claim| claim.name == row.0)));
        let text = text();
        assert!(
            text.contains("  operations:  diff\n") && text.contains("  answers need: "),
            "{text}"
        );
    }

    #[test]
    fn closest_finds_the_capability_that_an_unknown_name_means() {
        for (name, expected) in [
            ("restore.exac", "restore.exact"),
            ("dedup", "take.unchanged"),
            ("snapshot", "checkpoint"),
            ("garbage_collection", "prune"),
            ("disk_quota", "settings.max_total_bytes"),
            ("restore.backup", "restore.safety"),
            ("list.message", "list.reason"),
            ("ids.short_prefix", "target.short"),
            ("gitignore", "capture.gitignore"),
        ] {
            assert_eq!(closest(name), expected, "{name}");
        }
    }
}

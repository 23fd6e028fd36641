//! The text of a file of expectations after an update: what a person wrote in it stays, with every
//! comment, where the entry that it is about stays.

use super::{Entry, Expectations};
use serde::Deserialize;

const ENTRY: &str = "[[expect]]";

/// An entry as it is written, with the comments above it.
struct Block {
    text: String,
    entry: Entry,
}

/// What is between the entries of a file.
struct Parts {
    /// What comes before the first entry.
    head: String,
    blocks: Vec<Block>,
    /// Comments behind the last one.
    tail: String,
}

/// The text of `after`, as much of it as can be in the words of `before`, the file as it is.
pub fn rewritten(before: &str, after: &Expectations) -> String {
    let fresh = after.to_text();
    let (Some(mut old), Some(new)) = (parts(before), parts(&fresh)) else { return fresh };
    let mut text = String::new();
    for line in old.head.lines() {
        let line = with_number(line, "judged", after.judged);
        text.push_str(&with_number(&line, "most", after.most));
        text.push('\n');
    }
    for Block { text: fresh, entry } in new.blocks {
        let same = old.blocks.iter().position(|one| one.entry == entry);
        let block = same.map_or(fresh, |place| old.blocks.remove(place).text);
        // Comments that were at the top of the file or of a block begin where they began.
        text.push_str(if text.ends_with("\n\n") { block.trim_start() } else { &block });
    }
    text.push_str(&old.tail);
    // However it was written: what it says is what counts.
    let says_so = toml::from_str::<Expectations>(&text).is_ok_and(|said| said == *after);
    if says_so { text } else { fresh }
}

/// The line with another number, if it is the one of that key.
fn with_number(line: &str, key: &str, number: usize) -> String {
    let value = line.strip_prefix(key).and_then(|rest| rest.trim_start().strip_prefix('='));
    let Some(value) = value else { return line.to_owned() };
    let behind = value.trim_start().trim_start_matches(|one: char| one.is_ascii_digit());
    format!("{key} = {number}{behind}")
}

fn parts(text: &str) -> Option<Parts> {
    let (mut sections, mut pending) = (vec![String::new()], String::new());
    for line in text.lines() {
        let is_between = line.trim().is_empty() || line.trim_start().starts_with('#');
        let is_entry = line.split('#').next().is_some_and(|line| line.trim() == ENTRY);
        pending.push_str(line);
        pending.push('\n');
        // What is above an entry goes with it, and everything else with what is above.
        if is_entry {
            sections.push(std::mem::take(&mut pending));
        } else if !is_between {
            sections.last_mut()?.push_str(&std::mem::take(&mut pending));
        }
    }
    let head = sections.remove(0);
    let blocks = sections.into_iter().map(|text| Some(Block { entry: entry(&text)?, text }));
    Some(Parts { head, blocks: blocks.collect::<Option<_>>()?, tail: pending })
}

fn entry(text: &str) -> Option<Entry> {
    #[derive(Deserialize)]
    struct One {
        expect: Vec<Entry>,
    }
    toml::from_str::<One>(text).ok()?.expect.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
# Ours. Ask the storage people.
schema = 2
subject = \"x\" # the engine
seeds = [1]
histories = 5
operations = 9
judged = 7 # of 94
most = 3

# They know.
[[expect]]
rule = \"b\"
verdict = \"fail\"
symptom = \"one\"
versions = \"*\" # until the rewrite
reason = \"r\"
link = \"l\"

# Gone soon.
[[expect]] # the second
rule = \"c\"
verdict = \"fail\"
symptom = \"two\"
versions = \"*\"
reason = \"\"\"
# no comment
[[expect]]
\"\"\"
link = \"l\"
# The end.
";

    #[test]
    fn what_a_person_wrote_stays_and_what_is_new_stands_in_its_place() {
        // An entry whose text looks like the head of one is none that can be told apart.
        let plain = BEFORE.replace("[[expect]]\n\"\"\"", "nothing\n\"\"\"");
        let mut after: Expectations = toml::from_str(&plain).unwrap();
        assert_eq!(rewritten(&plain, &after), plain);
        (after.judged, after.most) = (8, 2);
        let mut new = after.expect[0].clone();
        new.rule = "a".into();
        after.expect.insert(0, new);
        after.expect.pop();
        let text = rewritten(&plain, &after);
        assert_eq!(toml::from_str::<Expectations>(&text).unwrap(), after);
        for kept in [
            "# Ours.",
            "# the engine",
            "judged = 8 # of 94",
            "most = 2\n",
            "# They know.\n[[expect]]\nrule = \"b\"",
            "# until the rewrite",
            "# The end.",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        assert!(!text.contains("Gone soon"), "{text}");
        assert!(text.find("rule = \"a\"").unwrap() < text.find("# They know.").unwrap());
        assert!(!text.contains("\n\n\n"), "{text}");
    }

    #[test]
    fn what_cannot_be_told_apart_is_written_anew_and_says_the_same() {
        let after: Expectations = toml::from_str(BEFORE).unwrap();
        assert_eq!(rewritten(BEFORE, &after), after.to_text());
        assert_eq!(rewritten("", &after), after.to_text());
    }
}

//! The text of an expectations file after an update: what a user wrote in it is kept, with every comment,
//! as long as its entry is kept.

use super::{Expectation, Expectations};
use serde::Deserialize;

const ENTRY: &str = "[[expect]]";

/// The text of an entry, with the comments above it.
struct Block {
    text: String,
    entry: Expectation,
}

/// The parts of a file.
struct Parts {
    /// The text before the first entry.
    head: String,
    blocks: Vec<Block>,
    /// The comments after the last entry.
    tail: String,
}

/// The text of `after` that keeps as much as possible of `before`, the present text of the file.
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
        let same = old.blocks.iter().position(|block| block.entry == entry);
        let block = same.map_or(fresh, |index| old.blocks.remove(index).text);
        // After an empty line, the empty lines at the beginning of a block are dropped.
        text.push_str(if text.ends_with("\n\n") { block.trim_start() } else { &block });
    }
    text.push_str(&old.tail);
    // The text is only used if it has the intended meaning.
    let is_correct = toml::from_str::<Expectations>(&text).is_ok_and(|read| read == *after);
    if is_correct { text } else { fresh }
}

/// The line with another number if it sets the key, otherwise the same line.
fn with_number(line: &str, key: &str, number: usize) -> String {
    let value = line.strip_prefix(key).and_then(|rest| rest.trim_start().strip_prefix('='));
    let Some(value) = value else { return line.to_owned() };
    let rest = value.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    format!("{key} = {number}{rest}")
}

fn parts(text: &str) -> Option<Parts> {
    let mut sections = vec![String::new()];
    let mut pending = String::new();
    for line in text.lines() {
        let is_between = line.trim().is_empty() || line.trim_start().starts_with('#');
        let is_entry = line.split('#').next().is_some_and(|line| line.trim() == ENTRY);
        pending.push_str(line);
        pending.push('\n');
        // Comments above an entry belong to it; other comments belong to the section above them.
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

fn entry(text: &str) -> Option<Expectation> {
    #[derive(Deserialize)]
    struct Section {
        expect: Vec<Expectation>,
    }
    toml::from_str::<Section>(text).ok()?.expect.pop()
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
    fn rewritten_keeps_manual_text_and_puts_new_entries_in_order() {
        // An entry whose text contains the header of an entry cannot be distinguished.
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
    fn rewritten_returns_the_plain_text_if_entries_cannot_be_distinguished() {
        let after: Expectations = toml::from_str(BEFORE).unwrap();
        assert_eq!(rewritten(BEFORE, &after), after.to_text());
        assert_eq!(rewritten("", &after), after.to_text());
    }
}

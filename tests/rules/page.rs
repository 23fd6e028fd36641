//! The page of the rule book: every record, with links to the code, bugs, cases and tests of the rule.

use super::places::{Location, RuleLocations, constant};
use crate::docs::{first_sentence, root};
use herma_harness::protocol::known::known;
use herma_model::blame;
use herma_model::rules::{self, Rule, RuleRef, Tier};
use std::fmt::Write;

const HOW_TO_READ: &str = "\
# The rule book

Everything that a checkpoint system is held to, one record for each rule, and where in this
repository each rule is decided, kept, broken on purpose and tried. The page is generated from the
records in `model/src/rules/` and from the tree: do not edit it. `herma-conform rules` prints the
rules alone.

## How to read it

- **MUST**: breaking the rule loses or leaks data, makes an answer a lie, or goes against a documented
  behaviour. **SHOULD**: it is about presentation, or the behaviour is left free.
- The **tier** is the kind of promise, and each is earned separately. 1: a seed document states it.
  2: nothing is lost, nothing leaks, no answer is a lie. 3: the same under crashes, I/O errors and
  several processes. A: the wider checkpoint of a whole agent.
- **since** is the version of the rule book that the rule came with.
- **Needs** are the [capabilities](#capabilities) that an implementation must have before it can be
  judged by the rule. Without them the rule is shown as not applicable.
- The **usual cause** of a failure is a guess from bugs seen in real stores. It is never part of a
  verdict.
- Links lead to a file; their text is the function, planted bug or case to search for in it. **Model**
  is what judges the rule, **core** is where the reference implementation keeps it, **planted bugs**
  break it on purpose and must be found, and **cases** are the written histories that try it.
  **Generated** is what generates histories for this rule; all others try it by chance. **Tests** are
  those that name the rule; whatever runs histories tries every rule. Start with the first link of each
  line: where several items share the work, it is the one that *decides*, and the test that is about the
  fewest other rules.

## How to add a rule

1. Write its record in the file of its subject in `model/src/rules/`, with the version of the
   workspace in `since`. A new subject is a new file, named in `model/src/rules/mod.rs`.
2. Decide it in the model by a function whose documentation says ``Implements [`rules::ITS_NAME`]``,
   and give it its place in `model/src/blame.rs`.
3. Keep it in the core, with the comment `// rule: subject/statement` where that is done. The same
   comment in `harness/src/generate/` marks what generates histories for one rule.
   With more than two such comments, the main one ends in `: decides`.
4. Plant a bug in `harness/src/planted/` that breaks it, and write a case in `harness/cases/` that
   finds the bug. [CONTRIBUTING](../CONTRIBUTING.md) says how.
5. `just docs` writes this page again.
";

/// The text of the page.
pub fn text(locations: &RuleLocations) -> String {
    let mut page = String::from(HOW_TO_READ);
    let mut subjects: Vec<_> = rules::catalogue().map(Rule::subject).collect();
    subjects.dedup();
    page.push_str("\n## Subjects\n\n");
    for subject in &subjects {
        let count = rules_of(subject).count();
        let about = about(subject);
        writeln!(page, "- [{subject}](#{subject}): {about} {count} rules.").unwrap();
    }
    for subject in &subjects {
        write!(page, "\n<a id=\"{subject}\"></a>\n\n## {subject}\n\n{}\n", about(subject)).unwrap();
        for rule in rules_of(subject) {
            page.push_str(&entry(rule, locations));
        }
    }
    page.push_str(&capabilities());
    page.push_str(&causes());
    page
}

/// The file with the record of a rule, which is the file of its subject.
pub fn record_path(rule: RuleRef) -> String {
    format!("model/src/rules/{}.rs", rule.subject())
}

fn rules_of(subject: &str) -> impl Iterator<Item = RuleRef> {
    rules::catalogue().filter(move |rule| rule.subject() == subject)
}

/// What a subject is about: the sentence at the top of its file.
fn about(subject: &str) -> String {
    let path = root().join(format!("model/src/rules/{subject}.rs"));
    first_sentence(&std::fs::read_to_string(path).unwrap())
}

fn entry(rule: RuleRef, locations: &RuleLocations) -> String {
    let anchor = rule.id.replace('/', "-");
    let kind = match rule.tier {
        Tier::Documented => "documented",
        Tier::Integrity => "integrity",
        Tier::Durability => "durability",
        Tier::Agent => "agent state",
    };
    let mut text =
        format!("\n<a id=\"{anchor}\"></a>\n\n### {}\n\n{}\n\n", rule.id, rule.statement);
    writeln!(
        text,
        "**{}** · tier {} ({kind}) · since {} · source: {}\n",
        rule.level, rule.tier, rule.since, rule.source
    )
    .unwrap();
    let needs: Vec<_> =
        rule.needs.iter().map(|need| format!("[`{need}`](#{})", anchor_of(need))).collect();
    let record = Location::new(&record_path(rule), &constant(rule));
    for (label, value) in [
        ("Needs", needs.join(", ")),
        ("Usual cause", rule.hint.to_owned()),
        ("Record", links([&record].into_iter())),
        ("Model", links(locations.in_the_model(rule))),
        ("Core", links(locations.in_the_core(rule))),
        ("Planted bugs", links(locations.planted(rule))),
        ("Cases", links(locations.cases(rule))),
        ("Generated", links(locations.generated(rule))),
        ("Tests", links(locations.tests(rule))),
    ] {
        if !value.is_empty() {
            writeln!(text, "- {label}: {value}").unwrap();
        }
    }
    text
}

fn links<'a>(locations: impl Iterator<Item = &'a Location>) -> String {
    let links = locations.map(|Location { is_secondary, path, name, .. }| {
        let decides = if *is_secondary { "" } else { " (decides)" };
        format!("[`{name}`](../{path}){decides}")
    });
    links.collect::<Vec<_>>().join(", ")
}

fn anchor_of(capability: &str) -> String {
    format!("capability-{}", capability.replace(['.', '_'], "-"))
}

/// The capabilities that an implementation can claim.
fn capabilities() -> String {
    let mut text = String::from(
        "\n<a id=\"capabilities\"></a>\n\n## Capabilities\n\nWhat an adapter can claim for its \
         implementation, in its answer to `hello`.\n\n",
    );
    for (name, meaning) in known() {
        writeln!(text, "- <a id=\"{}\"></a>`{name}`: {meaning}", anchor_of(name)).unwrap();
    }
    text
}

/// Which rule is blamed if one operation breaks several.
fn causes() -> String {
    let mut text = String::from(
        "\n<a id=\"causes\"></a>\n\n## Causes before symptoms\n\nWhen one operation breaks several \
         rules, the first of them in this list is blamed, and the others are listed with it. A rule \
         with a judge in brackets has this position for what that judge found.\n\n",
    );
    for (rule, judge) in blame::CAUSES_FIRST {
        let judge = judge.map(|judge| format!(" ({judge})")).unwrap_or_default();
        writeln!(text, "1. {}{judge}", link_to(rule)).unwrap();
    }
    for (about, rules) in [
        ("Found in answers only, so that nothing follows from them", blame::ONLY_IN_ANSWERS),
        ("Blamed independently of all others", blame::INDEPENDENT),
    ] {
        let rules: Vec<_> = rules.iter().map(|rule| link_to(rule)).collect();
        writeln!(text, "\n{about}: {}.", rules.join(", ")).unwrap();
    }
    text
}

fn link_to(rule: RuleRef) -> String {
    format!("[`{}`](#{})", rule.id, rule.id.replace('/', "-"))
}

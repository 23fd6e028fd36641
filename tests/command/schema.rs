//! Every answer in JSON is as docs/herma.schema.json describes it: no member more, and none less.

use crate::command::world::CommandFixture;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// What is wrong with a value, by the keywords that the schema uses.
fn violation(schema: &Value, root: &Value, value: &Value, at: &str) -> Option<String> {
    let wrong = |why: String| Some(format!("{at}: {why}: {value}"));
    let fits = |choice: &&Value| violation(choice, root, value, at).is_none();
    for (keyword, argument) in schema.as_object().expect(at) {
        let found = match keyword.as_str() {
            "$ref" => {
                let name = argument.as_str().unwrap().trim_start_matches('#');
                violation(root.pointer(name).expect(name), root, value, at)
            }
            "anyOf" => match argument.as_array().unwrap().iter().find(fits) {
                Some(_) => None,
                None => wrong("none of the alternatives".into()),
            },
            "enum" if argument.as_array().unwrap().contains(value) => None,
            "enum" => wrong("another word".into()),
            "type" => {
                let is_right = match argument.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("{other}"),
                };
                if is_right { None } else { wrong(format!("no {argument}")) }
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                items.enumerate().find_map(|(index, item)| {
                    violation(argument, root, item, &format!("{at}/{index}"))
                })
            }
            "properties" => value.as_object().into_iter().flatten().find_map(|(name, member)| {
                let at = format!("{at}/{name}");
                match argument.get(name) {
                    Some(schema) => violation(schema, root, member, &at),
                    None => Some(format!("{at}: not in the schema")),
                }
            }),
            "required" => {
                let mut names =
                    argument.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                let missing = names.find(|name| value.get(name).is_none());
                missing.map(|name| format!("{at}/{name} is missing"))
            }
            // A member that `properties` does not have is a violation above.
            "additionalProperties" | "description" => None,
            other => panic!("the schema uses {other}"),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

#[test]
fn answers_in_json_are_as_the_schema_has_them() {
    let text = fs::read_to_string(crate::docs::root().join("docs/herma.schema.json"));
    let schema: Value = serde_json::from_str(&text.unwrap()).unwrap();
    let world = CommandFixture::new();
    world.write("Makefile", "all:\n");
    world.write("a", "1");
    world.write("big", vec![b'x'; (10 << 20) + 1]);
    world.write(".gitignore", "ignored\n");
    world.write("ignored", "");
    let mut answered = BTreeSet::new();
    let mut check = |name: &'static str, words: &[&str]| {
        let answer = world.herma(&[&["--json"], words].concat()).json();
        let definition = &schema["$defs"][name];
        assert!(definition.is_object(), "{name}");
        let wrong = violation(definition, &schema, &answer, name);
        assert_eq!(wrong, None, "{words:?}");
        answered.insert(name);
    };
    check("list", &["list"]);
    check("checkpoint", &["checkpoint"]);
    check("checkpoint", &["checkpoint"]);
    world.write("a", "2");
    world.write("bü", "2\n");
    check("checkpoint", &["checkpoint", "--label", "base"]);
    check("list", &["list"]);
    check("show", &["show", "1"]);
    world.write("a", b"\0binary");
    check("diff", &["diff"]);
    check("diff", &["diff", "2", "1"]);
    check("cat", &["cat", "1", "a"]);
    check("log", &["log", "a"]);
    check("preview", &["rollback", "1", "--dry-run"]);
    world.remove("big");
    check("restore", &["restore", "2"]);
    check("restore", &["restore", "base", "a", "--exact"]);
    check("restore", &["undo"]);
    check("pin", &["pin", "2"]);
    check("pin", &["unpin", "2"]);
    check("list", &["list"]);
    check("error", &["restore", "99"]);
    check("error", &["frobnicate"]);
    check("status", &["checkpoints"]);
    check("verify", &["checkpoints", "verify"]);
    check("excluded", &["checkpoints", "excluded"]);
    check("prune", &["checkpoints", "prune", "--dry-run"]);
    check("prune", &["checkpoints", "prune"]);
    check("classify", &["classify", "--", "rm a"]);
    check("doctor", &["doctor"]);
    check("agents", &["init"]);
    check("init", &["init", "--agent", "claude", "--force"]);
    check("completions", &["completions", "bash"]);
    check("page", &["man"]);
    check("version", &["--version"]);
    check("clear", &["checkpoints", "clear-legacy", "--force"]);
    fs::create_dir(world.base().with_file_name("agent")).unwrap();
    check("actions", &["actions"]);
    fs::rename(world.project(), world.home().join("moved")).unwrap();
    let moved = world.home().join("moved");
    let project = world.project();
    let paths = [project.to_str().unwrap(), moved.to_str().unwrap()];
    let words = [&["checkpoints", "move"], &paths[..]].concat();
    fs::create_dir(world.home().join("elsewhere")).unwrap();
    let answer = world.herma_in(&moved, &[&words[..], &["--json"]].concat()).json();
    assert_eq!(violation(&schema["$defs"]["move"], &schema, &answer, "move"), None);
    let parts = ["reason", "remark", "stats", "listed", "interrupted", "move"];
    let all = schema["$defs"].as_object().unwrap().keys().map(String::as_str);
    let never: Vec<&str> =
        all.filter(|name| !answered.contains(name) && !parts.contains(name)).collect();
    assert_eq!(never, Vec::<&str>::new(), "of these no answer was checked");
}

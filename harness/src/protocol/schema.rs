//! The JSON Schema of the protocol, generated from the types of its messages.
//!
//! It describes a line to the adapter as this runner writes it, and a line from the adapter as this runner
//! reads it. So a field that the runner always sends is required, and a field that a reply may leave out is
//! not.

use super::VERSION;
use super::claims::{Claim, claims};
use super::known::COMPLETE;
use super::message::{Envelope, Hello, Reply};
use super::translate::{
    AllProtected, Checkpoints, Classified, Diffed, Printed, Project, State, Status, Swept,
};
use herma_model::answer::{Compensated, Restored, Taken};
use herma_model::configuration::Configuration;
use herma_model::request::{Answered, REQUESTS};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The schema of `ok` in a reply to a request.
fn answer(answered: Answered, generator: &mut SchemaGenerator) -> Schema {
    match answered {
        Answered::Done => done(generator),
        Answered::Project => generator.subschema_for::<Project>(),
        Answered::Classified => generator.subschema_for::<Classified>(),
        Answered::Protected => generator.subschema_for::<AllProtected>(),
        Answered::Taken => generator.subschema_for::<Taken>(),
        Answered::Listed => generator.subschema_for::<Checkpoints>(),
        Answered::Printed => generator.subschema_for::<Printed>(),
        Answered::Diffed => generator.subschema_for::<Diffed>(),
        Answered::Restored => generator.subschema_for::<Restored>(),
        Answered::Swept => generator.subschema_for::<Swept>(),
        Answered::Status => generator.subschema_for::<Status>(),
        Answered::Configured => generator.subschema_for::<Configuration>(),
        Answered::State => generator.subschema_for::<State>(),
        Answered::Compensated => generator.subschema_for::<Compensated>(),
    }
}

/// The schema as a JSON document.
pub fn text() -> String {
    serde_json::to_string_pretty(&document()).expect("a JSON value always serializes") + "\n"
}

fn document() -> Value {
    let settings = || SchemaSettings::draft2020_12().with_transform(RecursiveTransform(allow_more));
    let mut request_generator = settings().for_serialize().into_generator();
    let mut reply_generator = settings().for_deserialize().into_generator();
    let request = request_generator.subschema_for::<Envelope<'_>>();
    let reply = reply_generator.subschema_for::<Reply>();
    let mut answers = Map::new();
    // Operations of the adapter itself; `x_no_such_operation` is always refused.
    answers.insert("hello".into(), reply_generator.subschema_for::<Hello>().to_value());
    answers.insert("open".into(), done(&mut reply_generator).to_value());
    answers.insert("close".into(), done(&mut reply_generator).to_value());
    for kind in REQUESTS {
        answers.insert(kind.name.into(), answer(kind.answered, &mut reply_generator).to_value());
    }
    let mut definitions = request_generator.take_definitions(true);
    definitions["Request"]["oneOf"].as_array_mut().into_iter().flatten().for_each(by_op);
    // Only byte strings are in both directions, and are written alike.
    definitions.extend(reply_generator.take_definitions(true));
    let claimed = &mut definitions["HelloAnswer"]["properties"]["capabilities"];
    claimed["properties"] = capabilities();
    claimed["additionalProperties"] = json!(false);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Herma adapter protocol, version {VERSION}"),
        "description": "One line of the protocol, either way. `x-answers` says for each operation \
                        what stands under `ok` in the reply to it. Fields that are not described \
                        are ignored; an operation that is not is answered `unsupported`.",
        "oneOf": [request, reply],
        "x-answers": answers,
        "$defs": definitions,
    })
}

/// Every capability that a hello may claim; one that does not exist is an error, not ignored.
fn capabilities() -> Value {
    let described = |claim: Claim| {
        let types = if claim.is_size() {
            json!(["boolean", "integer", "null"])
        } else if claim.is_name() {
            json!(["boolean", "string", "null"])
        } else {
            json!(["boolean", "null"])
        };
        (claim.name.to_owned(), json!({ "description": claim.meaning, "type": types }))
    };
    let mut properties: Map<String, Value> = claims().into_iter().map(described).collect();
    let everything = "Everything that the rules ask for of who looks after files.";
    properties
        .insert(COMPLETE.into(), json!({ "description": everything, "type": ["boolean", "null"] }));
    Value::Object(properties)
}

/// Files refuse unknown fields; the protocol ignores them.
fn allow_more(schema: &mut Schema) {
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        schema.remove("additionalProperties");
    }
}

/// Changes the schema of a request to that of a line, with its name under `op`; its type has the name
/// before the fields.
fn by_op(request: &mut Value) {
    let description = request["description"].take();
    let named = request["properties"].as_object_mut().and_then(|fields| fields.into_iter().next());
    let (name, mut line) = match named {
        Some((name, fields)) => (name.clone(), fields.take()),
        None => {
            (request["const"].as_str().unwrap_or_default().to_owned(), json!({ "required": [] }))
        }
    };
    line["type"] = json!("object");
    line["description"] = description;
    line["properties"]["op"] = json!({ "type": "string", "const": name });
    if let Some(required) = line["required"].as_array_mut() {
        required.insert(0, json!("op"));
    }
    *request = line;
}

fn done(generator: &mut SchemaGenerator) -> Schema {
    let nothing = json!({ "type": "object", "description": "Nothing to say." });
    generator.definitions_mut().insert("DoneAnswer".into(), nothing);
    Schema::new_ref("#/$defs/DoneAnswer".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::known::known;
    use herma_model::Code;
    use serde::de::DeserializeOwned;
    use std::collections::BTreeSet;

    fn schema() -> Value {
        serde_json::from_str(&text()).unwrap()
    }

    /// Collects every value of the field `key`, at any depth.
    fn collect<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
            Value::Object(fields) => {
                found.extend(fields.get(key));
                fields.values().for_each(|field| collect(field, key, found));
            }
            _ => {}
        }
    }

    fn words<'a>(value: &'a Value, key: &str) -> BTreeSet<&'a str> {
        let mut found = Vec::new();
        collect(value, key, &mut found);
        found.into_iter().filter_map(Value::as_str).collect()
    }

    /// The operations of lines to the adapter.
    fn operations(schema: &Value) -> BTreeSet<&str> {
        let mut found = Vec::new();
        collect(schema, "op", &mut found);
        found.into_iter().filter_map(|op| op["const"].as_str()).collect()
    }

    /// The variants of a type as serde itself lists them, so that none is missing.
    fn variants<T: DeserializeOwned>(invalid: Value) -> Vec<String> {
        let error = serde_json::from_value::<T>(invalid).err().unwrap().to_string();
        let (_, names) = error.split_once("expected one of ").unwrap();
        names.split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
    }

    #[test]
    fn schema_describes_every_operation_and_its_answer() {
        let schema = schema();
        let mut described = operations(&schema);
        assert!(REQUESTS.iter().all(|kind| described.contains(kind.name)));
        assert!(described.remove("x_no_such_operation"));
        let answers = schema["x-answers"].as_object().unwrap();
        assert_eq!(answers.keys().map(String::as_str).collect::<BTreeSet<_>>(), described);
    }

    #[test]
    fn schema_of_hello_allows_exactly_the_known_capabilities() {
        let schema = schema();
        let claimed = &schema["$defs"]["HelloAnswer"]["properties"]["capabilities"];
        assert_eq!(claimed["additionalProperties"], json!(false));
        let names: BTreeSet<&str> =
            claimed["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert!(known().all(|(name, _)| names.contains(name)) && names.contains(COMPLETE));
        assert_eq!(names.len(), known().count() + 1);
    }

    #[test]
    fn schema_describes_every_error_code() {
        let schema = schema();
        let described = words(&schema["$defs"]["Code"], "const");
        let codes = variants::<Code>(json!("?"));
        assert!(codes.len() >= 20);
        assert_eq!(codes.iter().map(String::as_str).collect::<BTreeSet<_>>(), described);
        assert!(words(&schema["$defs"]["Unsupported"], "const").contains("unsupported"));
    }

    #[test]
    fn schema_defines_everything_that_it_refers_to() {
        let schema = schema();
        for reference in words(&schema, "$ref") {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(schema.pointer(pointer).is_some(), "{reference}");
        }
        for name in ["Hello", "Take", "List", "Diff", "Restore", "Project", "Done"] {
            assert!(schema["$defs"][format!("{name}Answer")].is_object(), "{name}");
        }
    }
}

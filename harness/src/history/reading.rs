//! Reads YAML documents that a user wrote. An error names the wrong field, the expected value and the line.

use serde::de::DeserializeOwned;

/// Reads a document.
///
/// # Errors
/// The document is not valid: the position, and what is expected there.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut field = String::new();
    let read = serde_saphyr::with_deserializer_from_str(text, |document| {
        serde_path_to_error::deserialize(document).map_err(|error| {
            field = error.path().to_string();
            error.into_inner()
        })
    });
    read.map_err(|error| {
        let message = error.to_string();
        let message = message.trim_start_matches("error: ").replace(" --> <input>:", " --> ");
        let message =
            EXPECTED.iter().fold(message, |message, (word, plain)| message.replace(word, plain));
        // The entire document has no name.
        if field == "." { message } else { format!("{field}: {message}") }
    })
}

/// Descriptions of the types of this program for users.
const EXPECTED: &[(&str, &str)] = &[
    ("invalid u64", "a whole number is expected"),
    ("invalid u32", "a whole number is expected"),
    ("invalid usize", "a whole number is expected"),
    ("invalid i64", "a whole number is expected"),
    ("invalid bool", "`true` or `false` is expected"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;

    #[test]
    fn read_reports_the_field_the_expected_value_and_the_line() {
        for (text, expected) in [
            (
                "settings: {max_snapshots: many}\n",
                ["settings.max_snapshots: ", "line 1", "a whole number is expected"],
            ),
            (
                "settings: {enabled: 7}\n",
                ["settings.enabled: ", "line 1", "`true` or `false` is expected"],
            ),
            ("operatons: []\n", ["operatons", "line 1", "expected one of settings, "]),
            (
                "operations:\n- new_turn\n- chekpoint: {dir: a}\n",
                ["operations[1]: ", "line 3", "did you mean `checkpoint`?"],
            ),
            (
                "operations:\n- checkpoint: {dir: a, reson: x}\n",
                ["operations[0]", "line 2", "missing field `reason`"],
            ),
            (
                "operations:\n- write: {path: a, content: [3]}\n",
                ["operations[0]", "content", "{noise: SIZE, seed: NUMBER}"],
            ),
            (
                "operations:\n- write: {path: {b65: x}, content: a}\n",
                ["operations[0]", "path", "{b64: …}"],
            ),
            (
                "operations:\n- advance: {seconds: soon}\n",
                ["operations[0]", "seconds", "a whole number is expected"],
            ),
            ("operations:\n  - new_turn\n bad", ["line 3", "did not find expected key", "bad"]),
        ] {
            let error = read::<History>(text).unwrap_err();
            assert!(expected.iter().all(|words| error.contains(words)), "{text}{error}");
            assert!(!error.contains("untagged") && !error.contains("enum"), "{error}");
        }
    }
}

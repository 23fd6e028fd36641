//! YAML documents that a person wrote, read, or refused with the field that is wrong, what is expected
//! there, and the line.

use serde::de::DeserializeOwned;

/// Reads a document.
///
/// # Errors
/// It is no such document: where, and what is expected there.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut field = String::new();
    let read = serde_saphyr::with_deserializer_from_str(text, |document| {
        serde_path_to_error::deserialize(document).map_err(|error| {
            field = error.path().to_string();
            error.into_inner()
        })
    });
    read.map_err(|error| {
        let said = error.to_string();
        let said = said.trim_start_matches("error: ").replace(" --> <input>:", " --> ");
        let said = EXPECTED.iter().fold(said, |said, (word, plain)| said.replace(word, plain));
        // The document as a whole has no name.
        if field == "." { said } else { format!("{field}: {said}") }
    })
}

/// What the types of this program are to a person.
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
    fn what_is_wrong_is_said_with_the_field_what_is_expected_and_the_line() {
        for (text, says) in [
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
            let said = read::<History>(text).unwrap_err();
            assert!(says.iter().all(|words| said.contains(words)), "{text}{said}");
            assert!(!said.contains("untagged") && !said.contains("enum"), "{said}");
        }
    }
}

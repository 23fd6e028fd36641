//! Byte strings that stay readable in a file: text where they are UTF-8, `{b64: …}` elsewhere.
//!
//! File names, link targets and contents are bytes on a Unix disk; this is the one type for all
//! of them wherever they are written down.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

/// So many bytes are shown of more in a debug text.
pub const SHOWN_MAX: usize = 4096;

/// A sequence of bytes, usually text.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteString(pub Vec<u8>);

impl Deref for ByteString {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        ByteString(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for ByteString {
    fn from(bytes: &[u8]) -> Self {
        ByteString(bytes.to_vec())
    }
}

impl From<Vec<u8>> for ByteString {
    fn from(bytes: Vec<u8>) -> Self {
        ByteString(bytes)
    }
}

/// Shown with everything but printable ASCII escaped, so that no name can disturb a report.
impl fmt::Display for ByteString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.escape_ascii())
    }
}

/// The same, of many bytes the first ones, how many there are, and a hash that tells them from others.
impl fmt::Debug for ByteString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN_MAX)];
        write!(formatter, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            let mut hasher = DefaultHasher::new();
            self.0.hash(&mut hasher);
            write!(formatter, " of {} bytes, {:016x}", self.0.len(), hasher.finish())?;
        }
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "text or {b64: …} is expected")]
enum Written {
    Text(String),
    Encoded { b64: String },
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Written::Encoded { b64: STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(ByteString(text.into_bytes())),
            Written::Encoded { b64 } => {
                STANDARD.decode(b64).map(ByteString).map_err(serde::de::Error::custom)
            }
        }
    }
}

// By hand: what is written is not what is held.
impl JsonSchema for ByteString {
    fn schema_name() -> Cow<'static, str> {
        "ByteString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes: a text where they are UTF-8, Base64 where they are not.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "b64": { "type": "string", "contentEncoding": "base64" } },
                    "required": ["b64"],
                },
            ],
        })
    }
}

/// The part of `path` before its last slash; empty where there is none.
pub fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

/// The part of `path` after its last slash.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(path, |slash| &path[slash + 1..])
}

/// `directory/name`, or just `name` where the directory is the root (empty).
pub fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() {
        return name.to_vec();
    }
    let mut path = Vec::with_capacity(directory.len() + 1 + name.len());
    path.extend_from_slice(directory);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

/// Whether a name holds nothing that anything on the way may take for more than a name.
pub fn is_plain(path: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/-".contains(byte);
    let is_option = path.split(|byte| *byte == b'/').any(|name| name.starts_with(b"-"));
    path.iter().all(plain) && !is_option
}

/// What `path` is called below `directory`, if it lies below it.
pub fn below<'a>(directory: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    if directory.is_empty() {
        return (!path.is_empty()).then_some(path);
    }
    path.strip_prefix(directory)?.strip_prefix(b"/")
}

/// The proper ancestors of `path`, outermost first, without the empty root.
pub fn ancestors(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(slash, _)| &path[..slash])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_as_text_and_all_else_as_base64() {
        let written = |bytes: &[u8]| serde_json::to_string(&ByteString::from(bytes)).unwrap();
        assert_eq!(written("h\u{e9}\n".as_bytes()), "\"h\u{e9}\\n\"");
        assert_eq!(written(b"\xff\0"), r#"{"b64":"/wA="}"#);
        for bytes in [&b""[..], b"a", b"\xff\0", b"{\"b64\":\"\"}"] {
            let back: ByteString = serde_json::from_str(&written(bytes)).unwrap();
            assert_eq!(back, ByteString::from(bytes.to_vec()));
        }
        assert!(serde_json::from_str::<ByteString>(r#"{"b64":"?"}"#).is_err());
    }

    #[test]
    fn the_schema_allows_what_is_written_and_has_its_name() {
        let schema = schemars::schema_for!(Vec<ByteString>).to_value();
        let one = &schema["$defs"]["ByteString"]["anyOf"];
        assert_eq!(one[0]["type"], "string");
        assert_eq!(one[1]["properties"]["b64"]["contentEncoding"], "base64");
    }

    #[test]
    fn no_byte_disturbs_a_report() {
        let name = ByteString::from(&b"a\n\x1b\xff"[..]);
        assert_eq!(format!("{name}"), r"a\n\x1b\xff");
        assert_eq!(format!("{name:?}"), r#""a\n\x1b\xff""#);
    }

    #[test]
    fn the_debug_text_of_many_bytes_is_short_and_tells_them_from_others() {
        let text =
            |last: u8| format!("{:?}", ByteString([&[b'x'; SHOWN_MAX][..], &[last]].concat()));
        assert!(text(1).starts_with("\"xxx") && text(1).contains("x\" of 4097 bytes, "));
        assert_ne!(text(1), text(2));
        assert_eq!(text(1), text(1));
    }

    #[test]
    fn a_path_is_taken_apart_and_put_together_at_its_slashes() {
        assert_eq!((parent(b"a/b/c"), file_name(b"a/b/c")), (&b"a/b"[..], &b"c"[..]));
        assert_eq!((parent(b"a"), file_name(b"a")), (&b""[..], &b"a"[..]));
        assert_eq!((join(b"a/b", b"c"), join(b"", b"c")), (b"a/b/c".to_vec(), b"c".to_vec()));
        assert_eq!(ancestors(b"a/b/c").collect::<Vec<_>>(), [&b"a"[..], b"a/b"]);
        assert_eq!(ancestors(b"a").count(), 0);
    }

    #[test]
    fn only_what_is_inside_of_a_directory_is_below_it() {
        assert_eq!(below(b"a", b"a/b/c"), Some(&b"b/c"[..]));
        assert_eq!(below(b"", b"a/b"), Some(&b"a/b"[..]));
        for (directory, path) in [("a", "a"), ("a", "ab/c"), ("a/b", "a"), ("", "")] {
            assert_eq!(below(directory.as_bytes(), path.as_bytes()), None, "{directory} {path}");
        }
    }
}

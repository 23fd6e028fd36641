//! Byte strings that stay readable in a file: text where they are UTF-8, `{b64: …}` elsewhere.
//!
//! File names, link targets and contents are bytes on a Unix disk; [`ByteString`] is their type
//! wherever they are serialized.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The most bytes that a debug text shows.
pub const SHOWN_MAX: usize = 4096;

/// A sequence of bytes, usually text. Copies share them.
#[derive(Clone, Default, Eq)]
pub struct ByteString(Arc<[u8]>);

/// Shared bytes are equal without reading them: a file may have megabytes.
impl PartialEq for ByteString {
    fn eq(&self, right: &Self) -> bool {
        Arc::ptr_eq(&self.0, &right.0) || self.0 == right.0
    }
}

impl Ord for ByteString {
    fn cmp(&self, right: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &right.0) { Ordering::Equal } else { self.0.cmp(&right.0) }
    }
}

impl PartialOrd for ByteString {
    fn partial_cmp(&self, right: &Self) -> Option<Ordering> {
        Some(self.cmp(right))
    }
}

impl Hash for ByteString {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
    }
}

impl Deref for ByteString {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A map of byte strings is asked with plain bytes.
impl Borrow<[u8]> for ByteString {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for ByteString {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        ByteString(Arc::from(text.as_bytes()))
    }
}

impl From<&[u8]> for ByteString {
    fn from(bytes: &[u8]) -> Self {
        ByteString(Arc::from(bytes))
    }
}

impl From<Vec<u8>> for ByteString {
    fn from(bytes: Vec<u8>) -> Self {
        ByteString(Arc::from(bytes))
    }
}

/// Escapes everything but printable ASCII, so that no name can break a report.
impl fmt::Display for ByteString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.escape_ascii())
    }
}

/// The same; of more than [`SHOWN_MAX`] bytes only the first, with the length and a hash that
/// distinguishes them.
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
enum WrittenBytes {
    Text(String),
    Encoded { b64: String },
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => WrittenBytes::Encoded { b64: STANDARD.encode(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match WrittenBytes::deserialize(deserializer)? {
            WrittenBytes::Text(text) => Ok(text.into_bytes().into()),
            WrittenBytes::Encoded { b64 } => {
                STANDARD.decode(b64).map(ByteString::from).map_err(serde::de::Error::custom)
            }
        }
    }
}

// Not derived: the serialized form differs from the type.
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

/// Whether a path has no byte and no name that a shell, git or another program may treat specially.
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
    fn byte_string_is_serialized_as_text_if_it_is_utf8_and_as_base64_otherwise() {
        let serialized = |bytes: &[u8]| serde_json::to_string(&ByteString::from(bytes)).unwrap();
        assert_eq!(serialized("h\u{e9}\n".as_bytes()), "\"h\u{e9}\\n\"");
        assert_eq!(serialized(b"\xff\0"), r#"{"b64":"/wA="}"#);
        for bytes in [&b""[..], b"a", b"\xff\0", b"{\"b64\":\"\"}"] {
            let read: ByteString = serde_json::from_str(&serialized(bytes)).unwrap();
            assert_eq!(read, ByteString::from(bytes.to_vec()));
        }
        assert!(serde_json::from_str::<ByteString>(r#"{"b64":"?"}"#).is_err());
    }

    #[test]
    fn json_schema_of_byte_string_allows_both_serialized_forms() {
        let schema = schemars::schema_for!(Vec<ByteString>).to_value();
        let forms = &schema["$defs"]["ByteString"]["anyOf"];
        assert_eq!(forms[0]["type"], "string");
        assert_eq!(forms[1]["properties"]["b64"]["contentEncoding"], "base64");
    }

    #[test]
    fn display_and_debug_of_byte_string_escape_control_bytes() {
        let name = ByteString::from(&b"a\n\x1b\xff"[..]);
        assert_eq!(format!("{name}"), r"a\n\x1b\xff");
        assert_eq!(format!("{name:?}"), r#""a\n\x1b\xff""#);
    }

    #[test]
    fn debug_of_byte_string_truncates_many_bytes_and_distinguishes_them_by_a_hash() {
        let text = |last: u8| {
            format!("{:?}", ByteString::from([&[b'x'; SHOWN_MAX][..], &[last]].concat()))
        };
        assert!(text(1).starts_with("\"xxx") && text(1).contains("x\" of 4097 bytes, "));
        assert_ne!(text(1), text(2));
        assert_eq!(text(1), text(1));
    }

    #[test]
    fn parent_file_name_join_and_ancestors_split_and_join_a_path_at_slashes() {
        assert_eq!((parent(b"a/b/c"), file_name(b"a/b/c")), (&b"a/b"[..], &b"c"[..]));
        assert_eq!((parent(b"a"), file_name(b"a")), (&b""[..], &b"a"[..]));
        assert_eq!((join(b"a/b", b"c"), join(b"", b"c")), (b"a/b/c".to_vec(), b"c".to_vec()));
        assert_eq!(ancestors(b"a/b/c").collect::<Vec<_>>(), [&b"a"[..], b"a/b"]);
        assert_eq!(ancestors(b"a").count(), 0);
    }

    #[test]
    fn below_returns_the_relative_path_only_inside_the_directory() {
        assert_eq!(below(b"a", b"a/b/c"), Some(&b"b/c"[..]));
        assert_eq!(below(b"", b"a/b"), Some(&b"a/b"[..]));
        for (directory, path) in [("a", "a"), ("a", "ab/c"), ("a/b", "a"), ("", "")] {
            assert_eq!(below(directory.as_bytes(), path.as_bytes()), None, "{directory} {path}");
        }
    }
}

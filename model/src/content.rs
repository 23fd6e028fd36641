//! The serialized form of a file's content in a history: the bytes themselves or, for long content, how
//! they are generated.

use crate::bytes::ByteString;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Content of at most this many bytes is always written literally.
const SHORT_MAX: usize = 64;
/// The most bytes of content that is written in a short form.
const SIZE_MAX: usize = 256 << 20;

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "text, {b64: …}, {noise: SIZE, seed: NUMBER} or {repeat: TEXT, times: NUMBER} is expected"
)]
enum WrittenContent {
    Noise { noise: usize, seed: u32 },
    Repeated { repeat: ByteString, times: usize },
    Whole(ByteString),
}

/// Incompressible bytes, always the same for the same seed. They begin with the seed, so that it can be
/// read back; longer noise begins with shorter noise of the same seed.
pub fn noise(size: usize, seed: u32) -> ByteString {
    let seed_bytes = seed.to_le_bytes();
    let mut bytes = vec![0; size.max(seed_bytes.len())];
    bytes[..4].copy_from_slice(&seed_bytes);
    // SplitMix64: each step of the state, well mixed.
    let mut state = u64::from(seed);
    for word in bytes[4..].chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..word.len()]);
    }
    bytes.truncate(size);
    ByteString::from(bytes)
}

/// The shortest serialized form of content.
fn written(content: &ByteString) -> WrittenContent {
    let size = content.len();
    if size > SHORT_MAX {
        let seed = u32::from_le_bytes([content[0], content[1], content[2], content[3]]);
        // Nearly all other content differs from noise in the first bytes already.
        let is_noise =
            content.starts_with(&noise(SHORT_MAX, seed)) && noise(size, seed) == *content;
        if is_noise {
            return WrittenContent::Noise { noise: size, seed };
        }
        if content.iter().all(|byte| *byte == content[0]) {
            return WrittenContent::Repeated { repeat: content[..1].into(), times: size };
        }
    }
    WrittenContent::Whole(content.clone())
}

/// Writes content in its shortest form.
pub(crate) fn serialize<S: Serializer>(
    content: &ByteString,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    written(content).serialize(serializer)
}

/// Reads content in any of its forms.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ByteString, D::Error> {
    let written = WrittenContent::deserialize(deserializer)?;
    let size = match &written {
        WrittenContent::Noise { noise, .. } => *noise,
        WrittenContent::Repeated { repeat, times } => repeat.len().saturating_mul(*times),
        WrittenContent::Whole(_) => 0,
    };
    if size > SIZE_MAX {
        return Err(D::Error::custom(format!("a content of {size} bytes is too large")));
    }
    Ok(match written {
        WrittenContent::Noise { noise: size, seed } => noise(size, seed),
        WrittenContent::Repeated { repeat, times } => ByteString::from(repeat.repeat(times)),
        WrittenContent::Whole(content) => content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PINNED: [u8; 16] = [7, 0, 0, 0, 215, 13, 50, 89, 228, 225, 203, 99, 28, 102, 60, 244];

    fn text(content: &ByteString) -> String {
        serde_json::to_string(&written(content)).unwrap()
    }

    fn read(text: &str) -> Result<ByteString, serde_json::Error> {
        deserialize(&mut serde_json::Deserializer::from_str(text))
    }

    #[test]
    fn serialize_writes_long_content_as_noise_or_a_repetition() {
        for (content, short) in [
            (noise(700_000, 3), r#"{"noise":700000,"seed":3}"#),
            (vec![b'x'; 1_048_577].into(), r#"{"repeat":"x","times":1048577}"#),
            (vec![b'x'; 64].into(), &format!("\"{}\"", "x".repeat(64))),
            ("".into(), "\"\""),
            (b"\xff\0"[..].into(), r#"{"b64":"/wA="}"#),
        ] {
            assert_eq!(text(&content), short);
            assert_eq!(read(short).unwrap(), content);
        }
        let mut changed_noise = noise(100, 3).to_vec();
        changed_noise[99] ^= 1;
        assert!(text(&changed_noise.into()).starts_with(r#"{"b64":"#));
        assert_eq!(read(r#"{"repeat":"ab","times":3}"#).unwrap(), "ababab".into());
        assert_eq!(read(r#"{"repeat":"ab","times":0}"#).unwrap(), "".into());
    }

    #[test]
    fn noise_begins_with_shorter_noise_of_the_same_seed() {
        assert_eq!(noise(1_000, 7)[..500], *noise(500, 7));
        assert_eq!(noise(2, 7).len(), 2);
        // It is the same on every machine and in every version.
        assert_eq!(noise(16, 7)[..], PINNED);
        assert_ne!(noise(100, 7)[4..], noise(100, 8)[4..]);
    }

    #[test]
    fn deserialize_accepts_content_of_the_largest_size() {
        let largest = format!("{{\"repeat\":\"x\",\"times\":{SIZE_MAX}}}");
        assert_eq!(read(&largest).unwrap().len(), SIZE_MAX);
    }

    #[test]
    fn deserialize_refuses_content_that_is_too_large_or_has_a_negative_size() {
        let too_large = r#"{"repeat":"x","times":18446744073709551615}"#;
        assert!(read(too_large).unwrap_err().to_string().contains("too large"));
        assert!(read(r#"{"noise":270000000,"seed":1}"#).is_err());
        assert!(read(r#"{"noise":-1,"seed":1}"#).is_err());
    }
}

//! Compresses objects one after the other. The buffers, about 300 KB, are made once: clearing as much memory
//! anew for each small object takes longer than compressing it.

use crate::store::object::Kind;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

/// Compresses objects as git stores them: a zlib stream for each.
#[derive(Default)]
pub struct Compressor {
    commits: Option<ZlibEncoder<Vec<u8>>>,
    others: Option<ZlibEncoder<Vec<u8>>>,
}

impl Compressor {
    /// The stream of an object of a kind that consists of these parts.
    ///
    /// # Errors
    /// The library fails, which it does not for any bytes.
    pub fn stream(&mut self, kind: Kind, parts: &[&[u8]]) -> io::Result<Vec<u8>> {
        let reused = if kind == Kind::Commit { &mut self.commits } else { &mut self.others };
        let new = || ZlibEncoder::new(Vec::new(), kind.compression());
        let encoder = reused.get_or_insert_with(new);
        parts.iter().try_for_each(|part| encoder.write_all(part))?;
        encoder.reset(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn stream_makes_commits_of_one_length_equally_large_and_repetitive_blobs_smaller() {
        let repetitive: Vec<u8> = vec![b'a'; 256];
        let varied: Vec<u8> = (0..=255).collect();
        let mut compressor = Compressor::default();
        let mut size = |kind, bytes: &[u8]| compressor.stream(kind, &[bytes]).unwrap().len();
        assert_eq!(size(Kind::Commit, &repetitive), size(Kind::Commit, &varied));
        assert!(size(Kind::Blob, &repetitive) < size(Kind::Blob, &varied));
    }

    #[test]
    fn stream_is_the_same_whatever_was_compressed_before() {
        let mut used = Compressor::default();
        let large: Vec<u8> = (0..300_000u32).flat_map(|number| number.to_le_bytes()).collect();
        for parts in [&[&b""[..]][..], &[b"one", b"two"], &[b"a", &large], &[b"one", b"two"]] {
            for kind in [Kind::Commit, Kind::Blob] {
                let compressed = used.stream(kind, parts).unwrap();
                assert_eq!(compressed, Compressor::default().stream(kind, parts).unwrap());
                let mut read = Vec::new();
                flate2::read::ZlibDecoder::new(&compressed[..]).read_to_end(&mut read).unwrap();
                assert!(read == parts.concat());
            }
        }
    }
}

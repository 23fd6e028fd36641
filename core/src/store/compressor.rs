//! Compresses objects one after the other. The buffers, about 300 KB, are made once: clearing as much memory
//! anew for each small object takes longer than compressing it.
//!
//! Large content that gets no smaller, such as films and archives, is stored as it is: to try takes ten times as
//! long as to hash it.

use crate::store::object::Kind;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

/// Smaller content is compressed without a trial.
const TRIED_MIN: usize = 256 * 1024;
/// Of larger content, the middle of each piece of this many bytes is tried.
const PIECE: usize = 1024 * 1024;
const SAMPLE: usize = 8 * 1024;

/// Compresses objects as git stores them: a zlib stream for each.
#[derive(Default)]
pub struct Compressor {
    stored: Option<ZlibEncoder<Vec<u8>>>,
    compressed: Option<ZlibEncoder<Vec<u8>>>,
}

impl Compressor {
    /// The stream of an object of a kind that consists of these parts.
    ///
    /// # Errors
    /// The library fails, which it does not for any bytes.
    pub fn stream(&mut self, kind: Kind, parts: &[&[u8]]) -> io::Result<Vec<u8>> {
        let largest = parts.iter().max_by_key(|part| part.len()).copied().unwrap_or_default();
        let compression = compression_of(kind, largest)?;
        let is_stored = compression == Compression::none();
        let reused = if is_stored { &mut self.stored } else { &mut self.compressed };
        let new = || ZlibEncoder::new(Vec::new(), compression);
        let encoder = reused.get_or_insert_with(new);
        parts.iter().try_for_each(|part| encoder.write_all(part))?;
        encoder.reset(Vec::new())
    }
}

/// How an object of a kind is compressed that consists of these bytes or, if it is too large for memory, begins
/// with them.
///
/// # Errors
/// As for [`Compressor::stream`].
pub fn compression_of(kind: Kind, bytes: &[u8]) -> io::Result<Compression> {
    let usual = kind.compression();
    if bytes.len() < TRIED_MIN {
        return Ok(usual);
    }
    let mut trial = ZlibEncoder::new(Vec::new(), usual);
    for piece in bytes.chunks(PIECE) {
        let sample = &piece[piece.len().saturating_sub(SAMPLE) / 2..];
        let sample = &sample[..sample.len().min(SAMPLE)];
        trial.write_all(sample)?;
        if trial.reset(Vec::new())?.len() < sample.len() - sample.len() / 30 {
            return Ok(usual);
        }
    }
    Ok(Compression::none())
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

    /// Bytes that nothing makes smaller.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    #[test]
    fn stream_stores_large_content_as_it_is_if_no_piece_of_it_gets_smaller() {
        let mut compressor = Compressor::default();
        let mut size =
            |bytes: &[u8]| compressor.stream(Kind::Blob, &[b"head", bytes]).unwrap().len();
        for bytes in [TRIED_MIN, 3 * PIECE, 3 * PIECE + 1] {
            let noise = noise(bytes);
            let stored = size(&noise);
            assert!(stored > bytes && stored < bytes + bytes / 1_000, "{stored} of {bytes}");
            assert_eq!(compression_of(Kind::Blob, &noise).unwrap(), Compression::none());
        }
        let text = vec![b'x'; PIECE];
        for mixed in [[noise(2 * PIECE), text.clone()], [text.clone(), noise(2 * PIECE)]] {
            let mixed = mixed.concat();
            assert!(size(&mixed) < mixed.len() - PIECE / 2);
            assert_eq!(compression_of(Kind::Blob, &mixed).unwrap(), Kind::Blob.compression());
        }
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

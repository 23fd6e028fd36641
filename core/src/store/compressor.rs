//! Compresses objects one after the other. The buffers, about 300 KB, are made once: clearing as much memory
//! anew for each small object takes longer than compressing it.

use crate::store::object::Kind;
use flate2::{Compress, Compression, FlushCompress, Status};
use std::io;

/// Compresses objects as git stores them: a zlib stream for each.
#[derive(Default)]
pub struct Compressor {
    commits: Option<Compress>,
    others: Option<Compress>,
}

impl Compressor {
    /// Appends one stream with these parts of an object of a kind.
    ///
    /// # Errors
    /// The library fails, which it does not for any bytes.
    pub fn append(&mut self, kind: Kind, parts: &[&[u8]], stream: &mut Vec<u8>) -> io::Result<()> {
        // Commits are not compressed: they are mostly ids, and their size must not depend on the ids, so that
        // the store size limit keeps the same checkpoints everywhere.
        let (reused, level) = match kind {
            Kind::Commit => (&mut self.commits, Compression::none()),
            _ => (&mut self.others, Compression::fast()),
        };
        let compress = reused.get_or_insert_with(|| Compress::new(level, true));
        compress.reset();
        for part in parts {
            let before = compress.total_in();
            while let Some(rest) = part.get((compress.total_in() - before) as usize..)
                && !rest.is_empty()
            {
                stream.reserve(rest.len() / 2 + ROOM);
                compress.compress_vec(rest, stream, FlushCompress::None)?;
            }
        }
        while {
            stream.reserve(ROOM);
            compress.compress_vec(&[], stream, FlushCompress::Finish)? != Status::StreamEnd
        } {}
        Ok(())
    }
}

/// Room for output, in bytes.
const ROOM: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn stream(compressor: &mut Compressor, kind: Kind, parts: &[&[u8]]) -> Vec<u8> {
        let mut stream = Vec::new();
        compressor.append(kind, parts, &mut stream).unwrap();
        stream
    }

    #[test]
    fn append_makes_commits_of_one_length_equally_large_and_repetitive_blobs_smaller() {
        let repetitive: Vec<u8> = vec![b'a'; 256];
        let varied: Vec<u8> = (0..=255).collect();
        let mut compressor = Compressor::default();
        let mut size = |kind, bytes: &[u8]| stream(&mut compressor, kind, &[bytes]).len();
        assert_eq!(size(Kind::Commit, &repetitive), size(Kind::Commit, &varied));
        assert!(size(Kind::Blob, &repetitive) < size(Kind::Blob, &varied));
    }

    #[test]
    fn append_makes_the_same_stream_whatever_was_compressed_before() {
        let mut used = Compressor::default();
        let large: Vec<u8> = (0..300_000u32).flat_map(|number| number.to_le_bytes()).collect();
        for parts in [&[&b""[..]][..], &[b"one", b"two"], &[b"a", &large], &[b"one", b"two"]] {
            for kind in [Kind::Commit, Kind::Blob] {
                let compressed = stream(&mut used, kind, parts);
                assert_eq!(compressed, stream(&mut Compressor::default(), kind, parts));
                let mut read = Vec::new();
                flate2::read::ZlibDecoder::new(&compressed[..]).read_to_end(&mut read).unwrap();
                assert!(read == parts.concat());
            }
        }
    }
}

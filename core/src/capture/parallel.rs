//! Reads many small files with all threads, on a disk that serves several. Whatever is not an ordinary file that
//! was read at the first attempt is left to one thread.

use super::walk::Candidate;
use super::{Blobs, Capture, ReadItem, ReadMember, steady};
use crate::disk::{Kind as FileKind, parallel};
use crate::error::Result;
use crate::path::on_disk;
use crate::store::object::{Kind, id_of};
use crate::store::objects::Objects;

/// Larger files are left to one thread, since the contents of a group are in memory together.
// rule: cost/memory
const SMALL_BYTES_MAX: u64 = 128 * 1024;
/// The files of a group have no more bytes together, but for the last of them.
const GROUP_BYTES: u64 = 16 * 1024 * 1024;

/// A file that was read.
struct Seen {
    file: ReadItem,
    /// Its content, if that is not stored yet.
    content: Option<Vec<u8>>,
}

impl Capture<'_> {
    /// Reads small files among those that changed, adds them to `read`, and returns all others.
    pub(super) fn read_in_parallel(
        &self,
        changed: Vec<Candidate>,
        blobs: &mut Blobs<'_, '_>,
        read: &mut Vec<ReadMember>,
    ) -> Result<Vec<Candidate>> {
        if !parallel::is_shared(self.disk, changed.len()) {
            return Ok(changed);
        }
        let is_small = |Candidate { stat, .. }: &Candidate| {
            stat.kind == FileKind::File && stat.size <= SMALL_BYTES_MAX
        };
        let (small, mut left): (Vec<_>, Vec<_>) = changed.into_iter().partition(is_small);
        self.progress.begin_reading(small.len());
        let mut bytes = 0;
        let is_same_group = |_: &Candidate, next: &Candidate| {
            let fits = bytes < GROUP_BYTES;
            bytes = if fits { bytes + next.stat.size } else { next.stat.size };
            fits
        };
        for group in small.chunk_by(is_same_group) {
            let stored = blobs.stored();
            let seen = parallel::map(self.disk, group, |candidate| self.see(candidate, stored));
            for (candidate, seen) in group.iter().zip(seen) {
                let Some(Seen { file, content }) = seen else {
                    left.push(candidate.clone());
                    continue;
                };
                if let (Some(objects), Some(content)) = (blobs.target(), content) {
                    objects.add_absent(file.item.blob, Kind::Blob, content)?;
                }
                read.push((candidate.path.clone(), file));
            }
            self.progress.advance(group.len());
        }
        Ok(left)
    }

    /// A small file; `None` if it changes, grew, or cannot be read.
    fn see(&self, candidate: &Candidate, stored: Option<&Objects<'_>>) -> Option<Seen> {
        let path = on_disk(self.root, &candidate.path);
        let read = steady::read_up_to(self.disk, &path, SMALL_BYTES_MAX, self.started.as_ref());
        let (content, stat) = read.ok()??;
        if stat.size > SMALL_BYTES_MAX || content.len() as u64 != stat.size {
            return None;
        }
        // rule: capture/bytes
        let blob = id_of(Kind::Blob, &content);
        let is_stored = stored.map_or(Ok(true), |objects| objects.is_intact(blob)).ok()?;
        let content = (!is_stored).then_some(content);
        Some(Seen { file: self.read_file(blob, stat), content })
    }
}

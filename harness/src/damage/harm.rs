//! What may happen to one file of a store, and doing it.

use super::dice::Dice;
use super::places::{Kind, Place};
use crate::sandbox::harm::Left;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::iter::repeat_n;
use std::path::Path;

/// One way to damage a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Harm {
    /// It holds nothing any more.
    Emptied,
    /// Its end is missing.
    CutShort,
    /// One byte is another one.
    Flipped,
    /// It is gone.
    Removed,
    /// A link to nothing stands in its place.
    LinkToNothing,
    /// A link to another file stands in its place.
    LinkToAnother,
    /// A fifo stands in its place.
    Fifo,
    /// An empty folder stands in its place.
    Folder,
}

/// Those that need something in the file that can be lost.
const OF_CONTENT: [Harm; 3] = [Harm::Emptied, Harm::CutShort, Harm::Flipped];
/// Those that need nothing.
const OF_ALL: [Harm; 5] =
    [Harm::Removed, Harm::LinkToNothing, Harm::LinkToAnother, Harm::Fifo, Harm::Folder];

/// A kind of file that holds objects counts as so many.
const OBJECTS_WEIGHT: usize = 3;

impl Harm {
    /// In words: what became of the file.
    pub fn words(self) -> &'static str {
        match self {
            Harm::Emptied => "emptied",
            Harm::CutShort => "cut short",
            Harm::Flipped => "one byte flipped",
            Harm::Removed => "removed",
            Harm::LinkToNothing => "replaced by a link to nothing",
            Harm::LinkToAnother => "replaced by a link to another file",
            Harm::Fifo => "replaced by a fifo",
            Harm::Folder => "replaced by an empty folder",
        }
    }

    /// Whether something stands in the way that no program puts there by dying half-way.
    pub fn blocks(self) -> bool {
        matches!(self, Harm::Fifo | Harm::Folder)
    }

    /// Whether the file may still look whole, and say something else.
    pub fn may_mislead(self) -> bool {
        matches!(self, Harm::CutShort | Harm::Flipped | Harm::LinkToAnother)
    }
}

/// One damage to one file.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The file.
    pub place: Place,
    /// What becomes of it.
    pub harm: Harm,
    /// Decides where it is cut, or which byte is flipped to what.
    pub spot: u64,
    /// What a link to another file leads to.
    pub other: Option<Place>,
}

impl Damage {
    /// Draws a kind of file first, then one of that kind, then what happens to it: there are many
    /// more blobs than anything else. What holds objects is drawn more often than what does not.
    pub fn draw(dice: &mut Dice, places: &[Place]) -> Option<Damage> {
        let kinds: BTreeSet<Kind> = places.iter().map(|place| place.kind).collect();
        let weight = |kind: Kind| if kind.holds_objects() { OBJECTS_WEIGHT } else { 1 };
        let kinds: Vec<Kind> =
            kinds.into_iter().flat_map(|kind| repeat_n(kind, weight(kind))).collect();
        let kind = *dice.pick(&kinds)?;
        let mut of_kind: Vec<&Place> = places.iter().filter(|place| place.kind == kind).collect();
        of_kind.sort_by(|one, other| one.name.cmp(&other.name));
        let place = (*dice.pick(&of_kind)?).clone();
        let harms =
            if place.bytes > 0 { [&OF_CONTENT[..], &OF_ALL].concat() } else { OF_ALL.into() };
        let (harm, spot) = (*dice.pick(&harms)?, dice.any());
        of_kind.retain(|one| one.path != place.path);
        let other = dice.pick(&of_kind).map(|other| (*other).clone());
        Some(Damage { place, harm, spot, other })
    }

    /// Does it to the store in that folder; `elsewhere` is a file outside of it that a link may lead
    /// to.
    ///
    /// # Errors
    /// It cannot be done.
    pub fn apply(&self, store: &Path, elsewhere: &Path) -> io::Result<()> {
        let path = store.join(&self.place.path);
        let (content, permissions) = (fs::read(&path)?, fs::metadata(&path)?.permissions());
        let another = || self.other.as_ref().map(|other| store.join(&other.path));
        let left = match self.harm {
            Harm::LinkToAnother => Left::Link(another().unwrap_or_else(|| elsewhere.to_owned())),
            _ => self.left(content),
        };
        left.put(&path, permissions)
    }

    /// What is left of the content, or stands in its place.
    fn left(&self, mut content: Vec<u8>) -> Left {
        let length = content.len().max(1) as u64;
        match self.harm {
            Harm::Emptied => Left::Bytes(Vec::new()),
            Harm::CutShort => {
                content.truncate((self.spot % length) as usize);
                Left::Bytes(content)
            }
            Harm::Flipped => {
                // Another byte than before, whichever.
                let other = (self.spot >> 40) as u8 | 1;
                if let Some(byte) = content.get_mut((self.spot % length) as usize) {
                    *byte ^= other;
                }
                Left::Bytes(content)
            }
            Harm::LinkToNothing | Harm::LinkToAnother => Left::Link("nothing".into()),
            Harm::Fifo => Left::Fifo,
            Harm::Folder => Left::Folder,
            Harm::Removed => Left::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileTypeExt;

    const CONTENT: &[u8] = b"what it was";

    fn place(path: &str, bytes: u64) -> Place {
        Place {
            path: path.into(),
            kind: Kind::Ref,
            name: path.into(),
            bytes,
            object: None,
            project: None,
        }
    }

    /// A store with a damaged file and another one.
    fn harmed(harm: Harm) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["file", "other"] {
            fs::write(folder.path().join(name), CONTENT).unwrap();
        }
        let damage = Damage {
            place: place("file", 11),
            harm,
            spot: 0x0102_0304_0506_0708,
            other: Some(place("other", 11)),
        };
        damage.apply(folder.path(), Path::new("/nowhere")).unwrap();
        assert_eq!(fs::read(folder.path().join("other")).unwrap(), CONTENT);
        let path = folder.path().join("file");
        (folder, path)
    }

    #[test]
    fn what_loses_content_loses_what_it_says() {
        let left = |harm| {
            let (_folder, path) = harmed(harm);
            fs::read(path).unwrap()
        };
        assert_eq!(left(Harm::Emptied), b"");
        let cut = left(Harm::CutShort);
        assert!(cut.len() < CONTENT.len() && CONTENT.starts_with(&cut));
        let flipped = left(Harm::Flipped);
        assert_eq!(flipped.len(), CONTENT.len());
        assert_eq!(flipped.iter().zip(CONTENT).filter(|(one, other)| one != other).count(), 1);
    }

    #[test]
    fn something_else_stands_where_it_is_replaced() {
        let (_folder, path) = harmed(Harm::Removed);
        assert!(fs::symlink_metadata(path).is_err());
        let (_folder, path) = harmed(Harm::LinkToNothing);
        assert!(path.is_symlink() && !path.exists());
        let (_folder, path) = harmed(Harm::LinkToAnother);
        assert!(path.is_symlink() && fs::read(path).unwrap() == CONTENT);
        let (_folder, path) = harmed(Harm::Fifo);
        assert!(fs::symlink_metadata(path).unwrap().file_type().is_fifo());
        let (_folder, path) = harmed(Harm::Folder);
        assert!(path.is_dir());
    }

    #[test]
    fn every_kind_of_file_is_drawn_and_an_empty_one_loses_no_content() {
        let mut places: Vec<Place> = (0..30).map(|one| place(&format!("{one:02}"), 0)).collect();
        places.push(Place { kind: Kind::Blob, ..place("a blob", 5) });
        let mut blobs = 0;
        for number in 0..60 {
            let damage = Damage::draw(&mut Dice::new(1, number, "damage"), &places).unwrap();
            blobs += usize::from(damage.place.kind == Kind::Blob);
            assert!(damage.place.bytes > 0 || OF_ALL.contains(&damage.harm));
            assert!(damage.other.is_none_or(|other| other.path != damage.place.path));
        }
        assert!((35..55).contains(&blobs), "{blobs}");
        assert!(Damage::draw(&mut Dice::new(1, 1, "damage"), &[]).is_none());
    }
}

//! Damage to a store as lines of a shell script.

use super::Script;
use herma_model::store_edit::Damage;
use herma_model::{ByteString, Piece, StoreEdit};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The functions that a script needs to damage files of the store.
pub(super) const FUNCTIONS: &str = r#"STORE=$ROOT/home/.hermes/checkpoints/store
hash_of() { printf %s "$1" | sha256sum | cut -c1-16; }
# The pack that holds the object of that file.
pack_of() {
    local id=${1#objects/} index
    for index in "$STORE"/objects/pack/*.idx; do
        if git show-index --object-format=sha1 <"$index" | grep -q " ${id/\//} "; then
            printf %s "${index%.idx}.pack"
        fi
    done
}
# Damages a file of the store, or the pack that its object is in, if there is one.
damage() {
    local file=$STORE/$1 left size byte
    [ -e "$file" ] || [ "${1%%/*}" != objects ] || file=$(pack_of "$1")
    [ -f "$file" ] && [ ! -L "$file" ] || return 0
    left=$(mktemp -p "$ROOT") size=$(stat -c %s -- "$file")
    case $2 in
    emptied) ;;
    halved) head -c $((size / 2)) -- "$file" >"$left" ;;
    garbled) printf '\0not what it was\xff{' >"$left" ;;
    flipped)
        byte=$(od -An -tu1 -j $((size / 2)) -N1 -- "$file")
        { head -c $((size / 2)) -- "$file"; printf "\\x$(printf %02x $((byte ^ 1)))"
            tail -c +$((size / 2 + 2)) -- "$file"; } >"$left" ;;
    esac
    chmod --reference="$file" -- "$left"
    rm -f -- "$file"
    case $2 in
    removed) ;;
    link) ln -s -- nothing "$file" ;;
    fifo) mkfifo -m 600 -- "$file" ;;
    folder) mkdir -m 700 -- "$file" ;;
    *) mv -- "$left" "$file" ;;
    esac
    rm -f -- "$left"
}
"#;

impl Script {
    /// The line that makes this edit of the store, where `file` is the damaged file, if any; `None` if
    /// a shell cannot make the edit.
    pub(super) fn store_edit(&self, edit: &StoreEdit, file: Option<&Path>) -> Option<String> {
        let with_hash = |prefix: &str, project: &ByteString, suffix: &str| {
            let hash = format!("$(hash_of \"$ROOT\"/{})", self.quoted(project));
            format!("{prefix}\"{hash}\"{suffix}")
        };
        let quoted_file = || self.quoted(file.unwrap_or(Path::new("")).as_os_str().as_bytes());
        let (file, damage) = match edit {
            StoreEdit::Stored { piece: Piece::Checkpoint, id, damage, .. } => {
                let index = self.ids.iter().rposition(|script_id| script_id == id);
                let object_path = |index: usize| {
                    let id = format!("ID{}", index + 1);
                    format!("objects/\"${{{id}:0:2}}\"/\"${{{id}:2}}\"")
                };
                (index.map_or_else(quoted_file, object_path), damage)
            }
            // The name of a pack differs in each run.
            StoreEdit::Stored { piece: Piece::PackIndex, .. } => return None,
            StoreEdit::Stored { damage, .. } | StoreEdit::File { damage, .. } => {
                (quoted_file(), damage)
            }
            StoreEdit::Ref { project, damage } => (with_hash("refs/hermes/", project, ""), damage),
            StoreEdit::Index { project, damage } => (with_hash("indexes/", project, ""), damage),
            StoreEdit::Metadata { project, damage } => {
                (with_hash("projects/", project, ".json"), damage)
            }
            StoreEdit::Collected => {
                let gc = "git -c core.sharedRepository=0600 --git-dir \"$STORE\" gc --quiet";
                return Some(format!("[ ! -f \"$STORE/HEAD\" ] || {gc}"));
            }
            _ => return None,
        };
        Some(format!("damage {file} {}", word(*damage)))
    }
}

/// The word for a damage in a history.
fn word(damage: Damage) -> String {
    let value = serde_json::to_value(damage).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_edit_finds_files_whose_names_differ_in_each_run() {
        let ids = vec!["1a".repeat(20), "2b".repeat(20)];
        let script = Script { root: b"/tmp/x".to_vec(), ids: ids.clone(), ..Script::default() };
        let project = ByteString::from("work/alpha");
        let file = Some(Path::new("objects/ab/cd"));
        let line = |edit| script.store_edit(&edit, file).unwrap_or_default();
        let stored = |piece| StoreEdit::Stored {
            project: project.clone(),
            id: ids[1].clone(),
            piece,
            damage: Damage::Flipped,
        };
        assert_eq!(line(stored(Piece::File("a".into()))), "damage $'objects/ab/cd' flipped");
        let expected = "damage objects/\"${ID2:0:2}\"/\"${ID2:2}\" flipped";
        assert_eq!(line(stored(Piece::Checkpoint)), expected);
        let ref_edit = StoreEdit::Ref { project, damage: Damage::Fifo };
        let expected_ref = "damage refs/hermes/\"$(hash_of \"$ROOT\"/$'work/alpha')\" fifo";
        assert_eq!(line(ref_edit), expected_ref);
        assert!(line(StoreEdit::Collected).ends_with("gc --quiet"));
        assert_eq!(line(StoreEdit::Stray { name: "x".into() }), "");
    }
}

//! The checkpoints with refs of their own, in addition to a history: pre-restore checkpoints, and pinned
//! checkpoints that are evicted from the history.

use super::stored::Refs;
use herma_model::store::{PINS, ROLLBACKS};
use std::collections::BTreeMap;

/// Inserts the checkpoints with refs of their own among those of their projects, each before its
/// parent, or at the end if the parent is not visible.
pub fn insert(visible: &mut BTreeMap<String, Vec<String>>, refs: &Refs) {
    for (hash, _, _, id) in numbered(refs, PINS).into_iter().filter(|(_, number, ..)| *number > 0) {
        let ids = visible.entry(hash.to_owned()).or_default();
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    for (hash, _, parent, id) in numbered(refs, ROLLBACKS) {
        let ids = visible.entry(hash.to_owned()).or_default();
        if !ids.contains(id) {
            let position = ids.iter().position(|listed| listed == parent);
            ids.insert(position.unwrap_or(ids.len()), id.clone());
        }
    }
}

/// The refs below a folder that are named `<hash>/<number>-<id>`, the highest number of each hash first.
fn numbered<'a>(refs: &'a Refs, folder: &str) -> Vec<(&'a str, u64, &'a str, &'a String)> {
    let parsed = |(name, id): (&'a String, &'a String)| {
        let (hash, rest) = name.strip_prefix(folder)?.split_once('/')?;
        let (number, named_id) = rest.split_once('-')?;
        Some((hash, number.parse().ok()?, named_id, id))
    };
    let mut refs_found: Vec<_> = refs.iter().filter_map(parsed).collect();
    refs_found.sort_unstable();
    refs_found.reverse();
    refs_found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_puts_later_checkpoints_before_earlier_ones_and_both_before_their_parent() {
        let ids = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut visible = BTreeMap::from([("ab".to_owned(), ids("w3 w2 w1"))]);
        let refs = [
            ("hermes/ab", "w3"),
            ("rollbacks/ab/2-w2", "r2"),
            ("rollbacks/ab/10-w2", "r10"),
            ("rollbacks/ab/11-w3", "w3"),
            ("rollbacks/ab/1-w0", "r1"),
            ("rollbacks/cd/1-w0", "r0"),
            ("pins/ab/0-w1", "w1"),
            ("pins/ab/1-p1", "p1"),
            ("pins/ab/2-p2", "p2"),
        ];
        let refs = refs.map(|(name, id)| (format!("refs/{name}"), id.to_owned())).into();
        insert(&mut visible, &refs);
        assert_eq!(visible["ab"], ids("w3 r10 r2 w2 w1 p2 p1 r1"));
        assert_eq!(visible["cd"], ids("r0"));
    }
}

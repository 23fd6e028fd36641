//! The checkpoints that stand beside a history: those that the core takes before a restore, each
//! with a ref of its own.

use super::stored::Refs;
use herma_model::store::ROLLBACKS;
use std::collections::BTreeMap;

/// Puts the checkpoints with refs of their own among those of their projects, each before its
/// parent, or at the end where that is out of sight.
pub fn insert(visible: &mut BTreeMap<String, Vec<String>>, refs: &Refs) {
    let mut beside: Vec<(&str, u64, &str, &String)> = refs
        .iter()
        .filter_map(|(name, id)| {
            let (hash, place) = name.strip_prefix(ROLLBACKS)?.split_once('/')?;
            let (number, parent) = place.split_once('-')?;
            Some((hash, number.parse().ok()?, parent, id))
        })
        .collect();
    beside.sort_unstable();
    for (hash, _, parent, id) in beside.into_iter().rev() {
        let ids = visible.entry(hash.to_owned()).or_default();
        if !ids.contains(id) {
            let before = ids.iter().position(|other| other == parent);
            ids.insert(before.unwrap_or(ids.len()), id.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_one_stands_before_an_earlier_one_and_both_before_their_parent() {
        let ids = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut visible = BTreeMap::from([("ab".to_owned(), ids("w3 w2 w1"))]);
        let refs = [
            ("hermes/ab", "w3"),
            ("rollbacks/ab/2-w2", "r2"),
            ("rollbacks/ab/10-w2", "r10"),
            ("rollbacks/ab/11-w3", "w3"),
            ("rollbacks/ab/1-w0", "r1"),
            ("rollbacks/cd/1-w0", "r0"),
        ];
        let refs = refs.map(|(name, id)| (format!("refs/{name}"), id.to_owned())).into();
        insert(&mut visible, &refs);
        assert_eq!(visible["ab"], ids("w3 r10 r2 w2 w1 r1"));
        assert_eq!(visible["cd"], ids("r0"));
    }
}

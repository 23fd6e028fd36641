//! A map from paths to values, of which copies are cheap, and the differences between two such maps.
//!
//! The files of a world and the content of a checkpoint are such maps. Most of what the model does is to
//! compare two of them, which are mostly copies of each other; what is copied is recognized by its place
//! in memory.

use crate::bytes::ByteString;
use std::cmp::Ordering;
use std::collections::{BTreeMap, btree_map};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A map from paths to values. Copies share the map until one of them is changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathMap<V>(Arc<BTreeMap<ByteString, V>>);

/// One path in which two maps differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedPath<'a, V> {
    /// The path.
    pub path: &'a ByteString,
    /// The value in the older map, if there is one.
    pub older: Option<&'a V>,
    /// The value in the newer map, if there is one.
    pub newer: Option<&'a V>,
}

impl<V: PartialEq> PathMap<V> {
    /// Every path in which `newer` differs from this map, in order.
    pub fn differences<'a>(&'a self, newer: &'a PathMap<V>) -> Vec<ChangedPath<'a, V>> {
        let mut found = Vec::new();
        if Arc::ptr_eq(&self.0, &newer.0) {
            return found;
        }
        let mut older = self.0.iter().peekable();
        let mut newer = newer.0.iter().peekable();
        loop {
            let order = match (older.peek(), newer.peek()) {
                (None, None) => return found,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((older, _)), Some((newer, _))) => older.cmp(newer),
            };
            let older = older.next_if(|_| order.is_le());
            let newer = newer.next_if(|_| order.is_ge());
            let values = (older.map(|(_, value)| value), newer.map(|(_, value)| value));
            if let (Some((path, _)), true) = (older.or(newer), values.0 != values.1) {
                found.push(ChangedPath { path, older: values.0, newer: values.1 });
            }
        }
    }
}

impl<V: Clone> PathMap<V> {
    /// Removes a path, if it is there; otherwise the map stays shared.
    pub fn remove(&mut self, path: &[u8]) -> Option<V> {
        if self.0.contains_key(path) { Arc::make_mut(&mut self.0).remove(path) } else { None }
    }
}

impl<V> Deref for PathMap<V> {
    type Target = BTreeMap<ByteString, V>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<V: Clone> DerefMut for PathMap<V> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl<V> Default for PathMap<V> {
    fn default() -> Self {
        PathMap(Arc::default())
    }
}

impl<V> FromIterator<(ByteString, V)> for PathMap<V> {
    fn from_iter<I: IntoIterator<Item = (ByteString, V)>>(values: I) -> Self {
        PathMap(Arc::new(values.into_iter().collect()))
    }
}

impl<V: Clone> IntoIterator for PathMap<V> {
    type Item = (ByteString, V);
    type IntoIter = btree_map::IntoIter<ByteString, V>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn map(values: &[(&str, u8)]) -> PathMap<u8> {
        values.iter().map(|(path, value)| (ByteString::from(*path), *value)).collect()
    }

    #[test]
    fn differences_are_the_added_removed_and_changed_paths_in_order() {
        let older = map(&[("b", 1), ("c", 1), ("d", 1), ("f", 1)]);
        let newer = map(&[("a", 2), ("b", 1), ("c", 2), ("e", 2), ("g", 2), ("h", 2)]);
        let found = older.differences(&newer);
        let found: Vec<_> = found
            .iter()
            .map(|found| (found.path.to_string(), found.older.copied(), found.newer.copied()))
            .collect();
        let expected = [
            ("a", None, Some(2)),
            ("c", Some(1), Some(2)),
            ("d", Some(1), None),
            ("e", None, Some(2)),
            ("f", Some(1), None),
            ("g", None, Some(2)),
            ("h", None, Some(2)),
        ];
        assert_eq!(found, expected.map(|(path, older, newer)| (path.to_owned(), older, newer)));
        assert_eq!(newer.differences(&newer.clone()), []);
        assert_eq!(newer.differences(&map(&[])).len(), newer.len());
    }

    #[test]
    fn a_copy_shares_the_map_until_one_of_them_is_changed() {
        let first = map(&[("a", 1)]);
        let mut second = first.clone();
        assert!(std::ptr::eq(&*first, &*second));
        second.insert("a".into(), 2);
        assert_eq!((first, second), (map(&[("a", 1)]), map(&[("a", 2)])));
    }
}

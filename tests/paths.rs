//! A restore of some files and folders does what a full restore does there, and nothing elsewhere.

use herma_core::disk::SystemDisk;
use herma_core::{Config, Environment, Manager, RestoreOptions, Scope, SystemClock};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// No name is below another, so that no file is in the way of a folder.
const NAMES: [&str; 8] = ["a", "b b", "d/a", "d/b", "d/e/a", "d/e/-f", "e/a", "ee"];
const COVERED: [&str; 8] = ["a", "b b", "d", "d/b", "d/e", "e", "ee", "d/e/-f"];

type FileMap = BTreeMap<&'static str, u8>;

fn tree() -> impl Strategy<Value = FileMap> {
    proptest::collection::btree_map(proptest::sample::select(&NAMES[..]), 0u8..3, 0..NAMES.len())
}

fn covered() -> impl Strategy<Value = BTreeSet<&'static str>> {
    proptest::collection::btree_set(proptest::sample::select(&COVERED[..]), 1..4)
}

fn write(project: &Path, tree: &FileMap) {
    for name in NAMES {
        let path = project.join(name);
        match tree.get(name) {
            Some(content) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, [*content]).unwrap();
            }
            None => drop(fs::remove_file(path)),
        }
    }
}

fn read(project: &Path) -> FileMap {
    let content = |name: &&'static str| Some((*name, fs::read(project.join(name)).ok()?[0]));
    NAMES.iter().filter_map(content).collect()
}

fn is_below(paths: &BTreeSet<&str>, name: &str) -> bool {
    paths.iter().any(|path| name == *path || name.starts_with(&format!("{path}/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn below_restores_the_covered_paths_and_undo_gives_all_of_them_back(
        recorded in tree(), present in tree(), covered in covered(), exact: bool
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let project = root.join("project");
        fs::create_dir(&project).unwrap();
        fs::write(project.join("always"), "").unwrap();
        let environment = Environment {
            home: root.clone(),
            current_directory: root.clone(),
            base: root.join("hermes/checkpoints"),
        };
        let manager = || Manager::new(
            Arc::new(SystemDisk), Arc::new(SystemClock), environment.clone(), Config::default(),
        );
        write(&project, &recorded);
        manager().checkpoint(&project, "recorded").unwrap();
        write(&project, &present);
        let paths = || covered.iter().map(|path| path.as_bytes()).collect::<Vec<_>>();
        let scope = || Scope::Below(paths(), RestoreOptions { exact, force: false });
        let preview = manager().preview(&project, b"1", scope());
        let restored = manager().restore_scope(&project, b"1", scope(), None);
        let is_held = |path: &&&str| recorded.keys().any(|name| is_below(&[**path].into(), name));
        if covered.iter().filter(is_held).count() < covered.len() {
            prop_assert_eq!(restored.unwrap_err().code(), "not_in_checkpoint");
            prop_assert_eq!(preview.unwrap_err().code(), "not_in_checkpoint");
            prop_assert_eq!(read(&project), present);
            return Ok(());
        }
        let restored = restored.unwrap();
        let would = preview.unwrap().would;
        prop_assert_eq!(&restored.restored, &would.restored);
        prop_assert_eq!(&restored.removed, &would.removed);
        prop_assert_eq!(&restored.left, &would.left);
        let mut expected = present.clone();
        expected.retain(|name, _| !exact || !is_below(&covered, name) || recorded.contains_key(name));
        let is_covered = |entry: &(&&'static str, &u8)| is_below(&covered, entry.0);
        expected.extend(recorded.iter().filter(is_covered));
        prop_assert_eq!(read(&project), expected);
        if present == read(&project) {
            return Ok(());
        }
        manager().restore(&project, b"undo", RestoreOptions::default()).unwrap();
        prop_assert_eq!(read(&project), present);
    }
}

//! The top modules of each crate stand in one order, from ground to roof, and import only downwards.
//!
//! What is checked is the text of `crate::…` paths outside comments, tests of a module included. Two
//! modules that need each other cannot both be in the list: what both need goes below them. Through
//! which file of a lower folder an import goes is free, since the folders are no crates.

use crate::docs::root;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const MODEL: &str = "
    bytes rules commands configuration target
    agent content files ignore tool
    edit place request tree
    answer plain lines object unit refusal verdict injected
    blame capture observation store_edit
    world allowed store operations together tests";

const CORE: &str = "
    io_error path text token triggers
    error ignore policy remark unit
    disk environment configuration own_folders project
    store state report
    capture restore maintenance
    manager
    agent printed rollback_line doctor";

const HARNESS: &str = "
    git_objects nearest parallel share history
    coverage depth divergence inject severity report
    database sandbox workspace
    oracle protocol generate
    subject bundled null runner
    canary export hostile transcript trial apart shrink check compare
    large
    planted cases
    suite careful power results expectations";

/// The files of a crate below its `src`, without those of its command.
fn sources(krate: &str) -> BTreeMap<String, String> {
    let source = root().join(krate).join("src");
    let (mut found, mut pending) = (BTreeMap::new(), vec![source.clone()]);
    while let Some(path) = pending.pop() {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "bin") {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(&source).unwrap().display().to_string();
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    // It only says what there is.
    found.remove("lib.rs");
    found
}

/// The top module that a file belongs to.
fn top(file: &str) -> &str {
    let first = Path::new(file).iter().next().unwrap().to_str().unwrap();
    first.trim_end_matches(".rs")
}

/// The names that follow `crate::` in a text, of which `crate::{…}` has several.
fn imported(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join(" ");
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let word = |text: &str| text.trim_start().split(|one| !is_word(one)).next().unwrap().to_owned();
    let mut found = Vec::new();
    for path in code.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            found.push(word(path));
            continue;
        };
        let mut depth = 0;
        let outer = |one: &char| {
            depth += i32::from(*one == '{') - i32::from(*one == '}');
            depth == 0 && *one != '}'
        };
        let end = group.find(';').unwrap_or(group.len());
        let names: String = group[..end].chars().filter(outer).collect();
        found.extend(names.split(',').map(word).filter(|name| !name.is_empty()));
    }
    found
}

/// What is wrong with the imports of these files, where their top modules stand in that order.
fn wrong(order: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let order: Vec<&str> = order.split_whitespace().collect();
    let floor = |module: &str| order.iter().position(|one| *one == module);
    let mut wrong = Vec::new();
    for (file, text) in files {
        let Some(own) = floor(top(file)) else {
            wrong.push(format!("{file}: the module `{}` is in no list of this test", top(file)));
            continue;
        };
        for name in imported(text) {
            match floor(&name) {
                Some(other) if other > own => wrong.push(format!(
                    "{file} imports `{name}`, which stands above `{}`: move what both need down",
                    top(file)
                )),
                Some(_) => {}
                None => wrong.push(format!(
                    "{file} imports `crate::{name}`, which is no module: name the one it is from"
                )),
            }
        }
        let is_top =
            Path::new(file).iter().count() == 1 || file == &format!("{}/mod.rs", top(file));
        if is_top && text.lines().any(|line| line.starts_with("use super::")) {
            wrong.push(format!("{file} imports from `super`, which is the crate: say `crate::`"));
        }
    }
    wrong
}

#[test]
fn no_module_imports_one_that_stands_above_it() {
    for (krate, order) in [("model", MODEL), ("core", CORE), ("harness", HARNESS)] {
        let files = sources(krate);
        assert_eq!(wrong(order, &files), [""; 0], "in {krate}/src");
        for module in order.split_whitespace() {
            assert!(files.keys().any(|file| top(file) == module), "{krate} has no `{module}`");
        }
    }
}

#[test]
fn an_import_upwards_is_found_however_it_is_written() {
    let said = |file: &str, text: &str| {
        wrong("ground middle roof", &BTreeMap::from([(file.to_owned(), text.to_owned())]))
    };
    let upwards =
        "middle/a.rs imports `roof`, which stands above `middle`: move what both need down";
    for text in [
        "use crate::roof::Tile;",
        "use crate::{\n    ground::{self, Stone},\n    roof::Tile,\n};",
        "fn top() -> crate::roof::Tile { todo() }",
    ] {
        assert_eq!(said("middle/a.rs", text), [upwards], "{text}");
    }
    for text in [
        "use crate::ground::Stone;\nuse crate::middle::b;\nuse super::b;",
        "//! See [`crate::roof`].",
        "use crate::{ground::{roof, Stone}, middle};",
    ] {
        assert_eq!(said("middle/a.rs", text), [""; 0], "{text}");
    }
    assert!(said("cellar.rs", "")[0].contains("`cellar` is in no list"));
    assert!(said("middle.rs", "use crate::Tile;")[0].contains("`crate::Tile`, which is no module"));
    assert!(said("middle/mod.rs", "use super::roof;")[0].contains("say `crate::`"));
}

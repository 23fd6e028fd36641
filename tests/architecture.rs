//! Layering: the top modules of each crate have a fixed order and import only modules earlier in it.
//!
//! The test checks the text of `crate::…` paths outside comments, including the tests of a module. Two
//! modules that import each other fail it: their shared part belongs in a lower module. An import may use
//! any file of a lower folder, since folders are not crates.
//!
//! A program that uses a library builds no package that only the commands need.

use crate::docs::{root, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const MODEL: &str = "
    bytes excuse rules commands configuration target
    agent content path_map files ignore tool
    edit place request tree
    answer plain lines object unit refusal verdict injected
    blame capture observation store_edit
    world allowed store operations together tests";

const CORE: &str = "
    io_error path progress shared text token triggers
    error policy remark ignore unit
    disk environment configuration own_folders project
    store agent_state history report
    capture restore maintenance
    manager
    agent printed rollback_line doctor";

const HARNESS: &str = "
    git_objects nearest parallel processes share history
    coverage depth divergence inject severity report
    database sandbox workspace
    oracle protocol generate
    subject bundled null runner
    canary export transcript trial apart shrink special arbitrary check compare
    large
    planted cases hostile
    suite careful results expectations levels html power
    scripted_model front_door";

/// The packages that only the commands need.
const PACKAGES_OF_COMMANDS: [&str; 7] =
    ["clap", "clap_complete", "indicatif", "jsonc-parser", "landlock", "maud", "signal-hook"];

/// The files below the `src` of a crate, without those of its binaries and without `lib.rs`, which only declares
/// the modules.
fn modules(krate: &str) -> BTreeMap<String, String> {
    let source = format!("{krate}/src");
    let files = sources(&source, "rs").into_iter();
    let files = files.map(|(path, text)| (path[source.len() + 1..].to_owned(), text));
    files.filter(|(path, _)| path != "lib.rs" && !path.starts_with("bin/")).collect()
}

/// The top module that a file belongs to.
fn top_module(file: &str) -> &str {
    let first = Path::new(file).iter().next().unwrap().to_str().unwrap();
    first.trim_end_matches(".rs")
}

/// The names that follow `crate::` in a text; `crate::{…}` lists several.
fn imported(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join(" ");
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let word = |text: &str| {
        text.trim_start().split(|character| !is_word(character)).next().unwrap().to_owned()
    };
    let mut found = Vec::new();
    for path in code.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            found.push(word(path));
            continue;
        };
        let mut depth = 0;
        let is_outer = |character: &char| {
            depth += i32::from(*character == '{') - i32::from(*character == '}');
            depth == 0 && *character != '}'
        };
        let end = group.find(';').unwrap_or(group.len());
        let names: String = group[..end].chars().filter(is_outer).collect();
        found.extend(names.split(',').map(word).filter(|name| !name.is_empty()));
    }
    found
}

/// The import violations of these files, given the order of their top modules.
fn wrong_imports(order: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let order: Vec<&str> = order.split_whitespace().collect();
    let layer = |module: &str| order.iter().position(|name| *name == module);
    let mut violations = Vec::new();
    for (file, text) in files {
        let Some(own_layer) = layer(top_module(file)) else {
            violations.push(format!(
                "{file}: the module `{}` is in no list of this test",
                top_module(file)
            ));
            continue;
        };
        for name in imported(text) {
            match layer(&name) {
                Some(imported_layer) if imported_layer > own_layer => violations.push(format!(
                    "{file} imports `{name}`, which stands above `{}`: move what both need down",
                    top_module(file)
                )),
                Some(_) => {}
                None => violations.push(format!(
                    "{file} imports `crate::{name}`, which is no module: name the one it is from"
                )),
            }
        }
        let is_top =
            Path::new(file).iter().count() == 1 || file == &format!("{}/mod.rs", top_module(file));
        if is_top && text.lines().any(|line| line.starts_with("use super::")) {
            violations
                .push(format!("{file} imports from `super`, which is the crate: say `crate::`"));
        }
    }
    violations
}

#[test]
fn no_module_imports_a_module_of_a_higher_layer() {
    for (krate, order) in [("model", MODEL), ("core", CORE), ("harness", HARNESS)] {
        let files = modules(krate);
        assert_eq!(wrong_imports(order, &files), [""; 0], "in {krate}/src");
        for module in order.split_whitespace() {
            assert!(
                files.keys().any(|file| top_module(file) == module),
                "{krate} has no `{module}`"
            );
        }
    }
}

#[test]
fn wrong_imports_finds_an_upward_import_in_every_notation() {
    let violations = |file: &str, text: &str| {
        wrong_imports("ground middle roof", &BTreeMap::from([(file.to_owned(), text.to_owned())]))
    };
    let expected =
        "middle/a.rs imports `roof`, which stands above `middle`: move what both need down";
    for text in [
        "use crate::roof::Tile;",
        "use crate::{\n    ground::{self, Stone},\n    roof::Tile,\n};",
        "fn top() -> crate::roof::Tile { todo() }",
    ] {
        assert_eq!(violations("middle/a.rs", text), [expected], "{text}");
    }
    for text in [
        "use crate::ground::Stone;\nuse crate::middle::b;\nuse super::b;",
        "//! See [`crate::roof`].",
        "use crate::{ground::{roof, Stone}, middle};",
    ] {
        assert_eq!(violations("middle/a.rs", text), [""; 0], "{text}");
    }
    assert!(violations("cellar.rs", "")[0].contains("`cellar` is in no list"));
    assert!(
        violations("middle.rs", "use crate::Tile;")[0]
            .contains("`crate::Tile`, which is no module")
    );
    assert!(violations("middle/mod.rs", "use super::roof;")[0].contains("say `crate::`"));
}

/// The names of all packages that a package builds without its default features.
fn packages_without_features(package: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--no-default-features", "--package", package])
        .args(["--edges", "normal,build", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn without_the_feature_cli_a_library_builds_no_package_that_only_its_command_needs() {
    for library in ["herma-core", "herma-harness"] {
        let packages = packages_without_features(library);
        assert!(packages.contains("serde"), "{packages:?}");
        let of_commands = PACKAGES_OF_COMMANDS.into_iter().filter(|name| packages.contains(*name));
        assert_eq!(of_commands.collect::<Vec<_>>(), [""; 0], "{library}");
    }
}

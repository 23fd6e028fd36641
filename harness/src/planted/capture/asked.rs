//! What is done around a core that is asked for a checkpoint, and what is said instead of what it
//! said. A bug that cannot be played is no bug; the suite then just does not find it.

use super::super::intercepted::{Intercepted, created, none_taken, restores, taken, takes};
use crate::sandbox::manifest::on_disk;
use herma_model::answer::{CheckpointOutcome, Remark};
use herma_model::world::hash_of;
use herma_model::{Answer, ByteString, Node, Request, bytes};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// The files of the project that a request is about: their place, their path in it, and what they
/// are; what is in its own repository is none.
fn files(host: &Intercepted, request: &Request) -> Vec<(PathBuf, ByteString, Node)> {
    let Some(inside) = host.project_inside(request) else { return Vec::new() };
    let (root, all) = (host.sandbox.root(), host.files());
    let below = all.iter().filter_map(|(full, node)| {
        let path = ByteString::from(bytes::below(&inside, full)?);
        let ours = !path.starts_with(b".git/") && *node != Node::Directory;
        ours.then(|| (on_disk(root, full), path, node.clone()))
    });
    below.collect()
}

/// Asks the core, and where that takes a checkpoint has `change` do something to it.
fn once_created(
    host: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&mut Intercepted, &Request, &str) -> io::Result<String>,
) -> Answer {
    let answer = host.ask(request);
    let (true, Some(id)) = (takes(request), created(&answer)) else { return answer };
    match (change(host, request, id), &answer) {
        (Ok(id), Answer::Taken { skipped, .. }) => {
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped: skipped.clone() }
        }
        _ => answer,
    }
}

pub fn equal_sizes_are_no_change(host: &mut Intercepted, request: &Request) -> Answer {
    if !takes(request) {
        // A restore may take one too, of which this would know nothing.
        let name = name_of_history(host, request);
        if let (true, Ok(aside)) = (restores(request), host.aside()) {
            let _ = fs::remove_file(aside.join(name));
        }
        return host.ask(request);
    }
    let sizes: Vec<_> = files(host, request)
        .into_iter()
        .map(|(place, _, node)| match node {
            Node::File { content, executable, .. } => (place, Some((content.len(), executable))),
            _ => (place, None),
        })
        .collect();
    let (sizes, name) = (format!("{sizes:?}"), name_of_history(host, request));
    let seen = host.aside().map(|aside| aside.join(&name));
    let answer = host.ask(request);
    let Ok(seen) = seen else { return answer };
    let same = fs::read_to_string(&seen).is_ok_and(|before| before == sizes);
    if !matches!(answer, Answer::Taken { outcome: CheckpointOutcome::Deduped, .. }) {
        let _ = fs::write(&seen, &sizes);
    }
    match created(&answer) {
        Some(_) if same => none_taken(CheckpointOutcome::Unchanged),
        _ => answer,
    }
}

/// The hash under which the history of a project is kept.
fn name_of_history(host: &Intercepted, request: &Request) -> String {
    let project = host.project(request).unwrap_or_default();
    hash_of(project.as_os_str().as_bytes())
}

pub fn secrets_are_re_included(host: &mut Intercepted, request: &Request) -> Answer {
    let files = files(host, request);
    let re_includes = files.iter().any(|(_, path, node)| {
        let text = match node {
            Node::File { content, readable: true, .. } => String::from_utf8_lossy(content),
            _ => return false,
        };
        **path == b".gitignore"[..] && text.lines().any(|line| line == "!.env")
    });
    let also: fn(&ByteString) -> bool =
        if re_includes { |path| **path == b".env"[..] } else { |_| false };
    captures_also(host, request, also)
}

pub fn logs_are_captured(host: &mut Intercepted, request: &Request) -> Answer {
    captures_also(host, request, |path| !path.contains(&b'/') && path.ends_with(b".log"))
}

/// Takes a checkpoint that holds other files of the project's own directory as well.
fn captures_also(
    host: &mut Intercepted,
    request: &Request,
    also: fn(&ByteString) -> bool,
) -> Answer {
    once_created(host, request, |host, request, id| {
        let mut tree = host.git_bytes(&["ls-tree", "-z", id], b"")?;
        for (place, path, node) in files(host, request) {
            let is_there = tree
                .split(|byte| *byte == 0)
                .any(|line| line.strip_suffix(&path[..]).is_some_and(|rest| rest.ends_with(b"\t")));
            if also(&path) && !is_there && matches!(node, Node::File { readable: true, .. }) {
                let content = fs::read(place)?;
                let blob = host.write("blob", &content)?;
                tree.extend(format!("100644 blob {blob}\t{path}\0").bytes());
            }
        }
        let tree = host.git_given(&["mktree", "-z"], &tree)?;
        with_tree(host, id, &tree)
    })
}

/// The same checkpoint with another tree.
fn with_tree(host: &Intercepted, id: &str, tree: &str) -> io::Result<String> {
    let was = host.tree_of(id)?;
    if was == tree {
        return Ok(id.to_owned());
    }
    host.commit_instead(id, |text| Ok(text.replacen(&was, tree, 1)))
}

pub fn says_nothing_of_what_is_left_out(host: &mut Intercepted, request: &Request) -> Answer {
    match host.ask(request) {
        Answer::Taken { outcome, .. } => Answer::Taken { outcome, skipped: Vec::new() },
        answer => answer,
    }
}

pub fn stores_the_tree_of_before(host: &mut Intercepted, request: &Request) -> Answer {
    once_created(host, request, |host, _, id| {
        let complete = match host.log.last() {
            Some((_, Answer::Taken { skipped, .. })) => skipped.is_empty(),
            _ => true,
        };
        if complete {
            return Ok(id.to_owned());
        }
        let before = host.tree_of(&format!("{id}^"))?;
        with_tree(host, id, &before)
    })
}

pub fn tells_the_id_of_before(host: &mut Intercepted, request: &Request) -> Answer {
    once_created(host, request, |host, _, id| host.git(&["rev-parse", &format!("{id}^")]))
}

pub fn says_that_links_are_left_out(host: &mut Intercepted, request: &Request) -> Answer {
    let links: Vec<ByteString> = files(host, request)
        .into_iter()
        .filter(|(_, _, node)| matches!(node, Node::Link { .. }))
        .map(|(_, path, _)| path)
        .collect();
    match host.ask(request) {
        Answer::Taken { outcome, mut skipped } => {
            let why = "not a regular file".to_owned();
            skipped.extend(links.into_iter().map(|path| Remark { path, why: why.clone() }));
            Answer::Taken { outcome, skipped }
        }
        answer => answer,
    }
}

/// Whether nothing was taken, and the id of the newest checkpoint there is.
fn unchanged(host: &mut Intercepted, request: &Request, answer: &Answer) -> Option<Option<String>> {
    let Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. } = answer else { return None };
    match host.ask(&Request::List { dir: request.dir()?.clone() }) {
        Answer::Listed(listed) => Some(listed.into_iter().next().map(|newest| newest.id)),
        _ => None,
    }
}

pub fn takes_it_again(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    let Some(Some(newest)) = unchanged(host, request, &answer) else { return answer };
    let again = host.commit_instead(&newest, |text| {
        let mut lines: Vec<&str> = text.split('\n').collect();
        lines.retain(|line| !line.starts_with("parent "));
        let parent = format!("parent {newest}");
        lines.insert(1, &parent);
        Ok(lines.join("\n"))
    });
    again.map_or(answer, taken)
}

pub fn takes_nothing(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    let (Some(None), Some(history)) = (unchanged(host, request, &answer), host.history(request))
    else {
        return answer;
    };
    let take = |host: &Intercepted| -> io::Result<String> {
        let tree = host.git(&["mktree"])?;
        let who = format!("Somebody <somebody@example.org> {} +0000", host.seconds);
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nnothing\n");
        let id = host.write("commit", text.as_bytes())?;
        host.git(&["update-ref", &history, &id])?;
        Ok(id)
    };
    take(host).map_or(answer, taken)
}

pub fn touches_every_file(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    for (place, _, node) in files(host, request) {
        let Node::File { readable: true, .. } = node else { continue };
        if created(&answer).is_some()
            && let Ok(file) = fs::File::open(place)
            && let Ok(time) = file.metadata().and_then(|metadata| metadata.modified())
        {
            let _ = file.set_modified(time + Duration::from_secs(1));
        }
    }
    answer
}

pub fn makes_files_readable(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    for (place, _, node) in files(host, request) {
        if let (Node::File { readable: false, .. }, true) = (node, takes(request)) {
            let _ = fs::set_permissions(place, fs::Permissions::from_mode(0o644));
        }
    }
    answer
}

pub fn leaves_a_patch(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    if let (Answer::Diffed { entries, .. }, Some(project)) = (&answer, host.project(request)) {
        let _ = fs::write(project.join("rollback.patch"), format!("{entries:?}\n"));
    }
    answer
}

/// Asks with another reason.
pub fn with_reason(host: &mut Intercepted, request: &Request, change: fn(&str) -> &str) -> Answer {
    let mut request = request.clone();
    if let Request::Checkpoint { reason, .. } | Request::EnsureCheckpoint { reason, .. } =
        &mut request
    {
        *reason = change(reason).to_owned();
    }
    host.ask(&request)
}

//! What becomes of the core's lists. A bug that cannot be played is no bug; the suite then just does
//! not find it.

use super::super::intercepted::{Intercepted, created};
use herma_model::answer::{Listed, Stats};
use herma_model::{Answer, ByteString, Request};

/// The core's list, changed by somebody who knows what time it is.
pub fn changed(
    host: &mut Intercepted,
    request: &Request,
    change: fn(&mut Vec<Listed>, i64),
) -> Answer {
    let answer = host.ask(request);
    match (request, answer) {
        (Request::List { .. }, Answer::Listed(mut listed)) => {
            change(&mut listed, host.seconds);
            Answer::Listed(listed)
        }
        (_, answer) => answer,
    }
}

/// The ids of the checkpoints that were taken of a directory, or of any, oldest first.
fn taken(host: &Intercepted, dir: Option<&ByteString>) -> Vec<(ByteString, String)> {
    let of = |(request, answer): &(Request, Answer)| {
        let id = created(answer)?.to_owned();
        Some((request.dir()?.clone(), id))
    };
    let all = host.log.iter().filter_map(of);
    all.filter(|(one, _)| dir.is_none_or(|dir| dir == one)).collect()
}

/// A checkpoint as it would be listed last.
fn one_more(listed: &[Listed], id: String, time: i64) -> Listed {
    Listed { number: listed.len() + 1, id, time, reason: "before patch".into(), stats: None }
}

pub fn with_what_was_dropped(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    let Answer::Listed(mut listed) = answer else { return answer };
    if listed.len() == host.settings.max_snapshots {
        let is_listed = |id: &String| listed.iter().any(|one| one.id == *id);
        let mut taken = taken(host, request.dir());
        taken.retain(|(_, id)| !is_listed(id));
        if let Some((_, id)) = taken.pop() {
            listed.push(one_more(&listed, id, host.seconds));
        }
    }
    Answer::Listed(listed)
}

pub fn of_another_where_there_are_none(host: &mut Intercepted, request: &Request) -> Answer {
    match host.ask(request) {
        Answer::Listed(listed) if listed.is_empty() => match taken(host, None).pop() {
            Some((dir, _)) => host.ask(&Request::List { dir }),
            None => Answer::Listed(listed),
        },
        answer => answer,
    }
}

pub fn of_all_projects(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    let Answer::Listed(mut listed) = answer else { return answer };
    let all = host.git(&["rev-list", "--all"]).unwrap_or_default();
    for id in all.lines() {
        if listed.iter().all(|one| one.id != id) {
            listed.push(one_more(&listed, id.to_owned(), host.seconds));
        }
    }
    Answer::Listed(listed)
}

pub fn with_stats_for_the_oldest(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    let Answer::Listed(mut listed) = answer else { return answer };
    if let Some(oldest) = listed.last_mut() {
        let files = host.git(&["ls-tree", "-r", "--name-only", &oldest.id]).unwrap_or_default();
        let files = files.lines().count();
        oldest.stats = Some(Stats { files, added: files, removed: 0 });
    }
    Answer::Listed(listed)
}

pub fn packing_the_store(host: &mut Intercepted, request: &Request) -> Answer {
    let answer = host.ask(request);
    if matches!(request, Request::List { .. }) {
        let _ = host.git(&["repack", "-a", "-d", "-q"]);
    }
    answer
}

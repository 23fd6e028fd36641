//! The capabilities that a history needs: those without which other requests would be made, or a
//! rule could not be judged.

use crate::history::History;
use crate::history::concrete::without_place;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{Event, RunError, run_watched};
use crate::sandbox::Scratch;
use crate::subject::CoreSubject;
use herma_model::Settings;
use herma_model::edit::Change;
use herma_model::rules::RuleRef;

/// As long is the id of a checkpoint of the core.
const WHOLE_ID: usize = 40;

/// The capabilities that `history` needs to test these rules, sorted.
///
/// # Errors
/// A run that could not be made.
pub fn needs(
    history: &History,
    rules: &[RuleRef],
    scratch: &Scratch,
) -> Result<Vec<String>, RunError> {
    let everything = Capabilities::default();
    let asked = asked(history, &everything, scratch)?;
    let mut needs = Vec::new();
    for claim in everything.names() {
        let without = everything.without(claim);
        let settings = changes_a_setting(&without, &history.settings);
        let judged = rules.iter().any(|rule| without.lacking(rule).is_some());
        if settings || judged || self::asked(history, &without, scratch)? != asked {
            needs.push(claim.to_owned());
        }
    }
    Ok(needs)
}

/// Whether these capabilities leave out a setting that a history chose.
fn changes_a_setting(capabilities: &Capabilities, settings: &Settings) -> bool {
    let fields = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
    let (chosen, usual) = (fields(settings), fields(&Settings::default()));
    let left = fields(&capabilities.restrict_settings(settings));
    let names = chosen.as_object().into_iter().flatten().map(|(name, _)| name);
    names.into_iter().any(|name| chosen[name] != left[name] && chosen[name] != usual[name])
}

/// The requests of a run with these capabilities, without what differs from run to run.
fn asked(
    history: &History,
    capabilities: &Capabilities,
    scratch: &Scratch,
) -> Result<Vec<String>, RunError> {
    let (mut root, mut asked) = (String::new(), Vec::new());
    let mut watch = |event| match event {
        Event::Began { root: made, .. } => root = made.to_string(),
        Event::Edited(changes) => {
            let all = changes.into_iter().map(|change| match change {
                Change::Make(path, node) => {
                    Change::Make(path, without_place(&node, root.as_bytes()))
                }
                other => other,
            });
            asked.push(format!("{:?}", all.collect::<Vec<_>>()));
        }
        Event::StoreEdited(edit) => asked.push(without_ids(&format!("{edit:?}"), &root)),
        Event::Requested(one) => asked.push(without_ids(&format!("{:?}", one.request), &root)),
    };
    run_watched(history, &CoreSubject::boxed, scratch, capabilities, Some(&mut watch))?;
    Ok(asked)
}

/// A text with each id replaced by whether it is whole, since ids depend on the sandbox's path, and so
/// do the digits that a short one needs.
fn without_ids(text: &str, root: &str) -> String {
    let text = text.replace(root, "");
    let words = text.split_inclusive(|one: char| !one.is_ascii_alphanumeric());
    let word = |word: &str| {
        let id = word.trim_end_matches(|one: char| !one.is_ascii_alphanumeric());
        let is_id = id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_id {
            true if id.len() < WHOLE_ID => "<short>".to_owned(),
            true => "<whole>".to_owned(),
            false => word.to_owned(),
        }
    };
    words.map(word).collect()
}

//! Prints the list of checkpoints for people, in the layout of the first document behind the rules
//! (`seed 000`): one line per checkpoint, whatever its reason contains.

use crate::report::Listed;
use crate::text::{Style, Tone, ago, count, line, local_time, short_id};

/// The digits of an id that are printed, in their colour.
pub fn short(style: Style, id: &str) -> String {
    style.paint(Tone::Notable, short_id(id))
}

/// The lines of a list: name, short id, date and time, reason and changes of each checkpoint, and its age if it is
/// `now`; a label, a pin
/// and damage are printed on lines of their own.
// rule: list/layout
// rule: capture/reason-one-line
pub fn list(style: Style, checkpoints: &[Listed], now: Option<i64>) -> Vec<String> {
    let names: Vec<String> =
        checkpoints.iter().map(|checkpoint| checkpoint.name.to_string()).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let mut lines = Vec::with_capacity(checkpoints.len());
    for (name, checkpoint) in names.iter().zip(checkpoints) {
        let Listed { id, time, reason, stats, damage, label, pinned, .. } = checkpoint;
        let reason = line(reason);
        let reason = if reason.is_empty() { "(no reason)" } else { &reason };
        let stats = stats.filter(|stats| stats.files > 0).map(|stats| {
            let files = count(stats.files, "file", "files");
            format!("  ({files}, +{}/-{})", stats.added, stats.removed)
        });
        let age = now.map(|now| format!("  {:<8}", ago(*time, now))).unwrap_or_default();
        lines.push(format!(
            "  {name:>width$}. {}  {}{age}  {reason}{}",
            short(style, id),
            local_time(*time),
            stats.unwrap_or_default(),
        ));
        match (label, pinned) {
            (Some(label), _) => {
                let pinned = if *pinned { "pinned" } else { "not pinned" };
                let label = line(label);
                lines.push(format!("  {:>width$}  label: {label} ({pinned})", ""));
            }
            (None, true) => lines.push(format!("  {:>width$}  pinned", "")),
            (None, false) => {}
        }
        if let Some(damage) = damage {
            let damage = style.paint(Tone::Bad, &format!("damaged: {}", line(damage)));
            lines.push(format!("  {:>width$}  {damage}", ""));
        }
    }
    lines
}

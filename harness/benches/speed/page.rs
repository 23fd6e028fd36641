//! The results as tables and as a plot.

use crate::tool::Program;
use crate::{PLAN, Step, Times, seconds};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A table for each size of project: the median of each tool, its spread, and its ratio to the core.
pub fn tables(times: &Times, tools: &[Program]) -> String {
    let mut text = String::new();
    for files in sizes(times) {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        let _ = writeln!(text, "\n## {files} files\n\n| | {} |", names.join(" | "));
        let _ = writeln!(text, "| --- |{}", " ---: |".repeat(tools.len()));
        for (operation, _, _) in PLAN {
            let cells = tools.iter().map(|tool| cell(times, files, *operation, *tool));
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(text, "| {} | {} |", title(*operation), cells.join(" | "));
        }
    }
    text
}

/// The page with all tables.
pub fn page(times: &Times, tools: &[Program]) -> String {
    format!(
        "# Speed\n\n\
         Written by `just bench --page docs/speed.md`. Each tool has a project and a store of its own, and they take\n\
         turns for each operation. A cell is the median, the smallest and largest value, and how many times as long\n\
         as `herma` it takes. Only the ratios say something about another machine.\n\n\
         `herma`, `git` (add, write-tree, commit-tree, update-ref) and `restic` are whole processes. hermes-agent is a\n\
         process that stays, so only its calls are timed. A restore first saves the present state; for git, that is\n\
         another commit.\n\n\
         ![A checkpoint of one changed file, by the number of files](speed.svg)\n{}",
        tables(times, tools)
    )
}

fn title(operation: Step) -> &'static str {
    match operation {
        Step::First => "first checkpoint",
        Step::Unchanged => "nothing changed",
        Step::One => "one file changed",
        Step::Hundred => "100 files changed",
        Step::Half => "every second file changed",
        Step::List => "list",
        Step::Diff => "diff",
        Step::RestoreOne => "restore of one file",
        Step::RestoreHalf => "restore of every second file",
        Step::Prune => "prune",
    }
}

fn cell(times: &Times, files: usize, operation: Step, tool: Program) -> String {
    let of = |tool| times.get(&(files, operation, tool)).map(Vec::as_slice).and_then(median);
    let Some(median) = of(tool) else { return String::new() };
    let all = &times[&(files, operation, tool)];
    let least = all.iter().copied().fold(f64::MAX, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let spread = format!("{} ({} to {})", seconds(median), seconds(least), seconds(most));
    match of(Program::Herma).filter(|_| tool != Program::Herma) {
        Some(herma) => format!("{spread}, {:.1} ×", median / herma),
        None => spread,
    }
}

fn median(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn sizes(times: &Times) -> BTreeSet<usize> {
    times.keys().map(|(files, _, _)| *files).collect()
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// The room for labels.
const MARGIN: f64 = 64.0;
/// Colours that differ for colour-blind readers, too.
const COLOURS: [&str; 5] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#000000"];

/// The time of a checkpoint of one changed file (upwards) by the number of files, both logarithmic.
pub fn plot(times: &Times, tools: &[Program]) -> String {
    let of = |files, tool| times.get(&(files, Step::One, tool)).and_then(|all| median(all));
    let sizes = sizes(times);
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        WIDTH + 3.0 * MARGIN,
        HEIGHT + 2.0 * MARGIN,
    );
    // From a millisecond to ten seconds.
    for exponent in -3..=1 {
        let time = 10_f64.powi(exponent);
        let y = vertical(time);
        let _ = writeln!(image, "<path d=\"M{MARGIN} {y:.1}h{WIDTH}\" stroke=\"#ddd\"/>");
        label(&mut image, [MARGIN - 6.0, y + 4.0], "end", &seconds(time));
    }
    for files in &sizes {
        let x = horizontal(*files, &sizes);
        let _ = writeln!(image, "<path d=\"M{x:.1} {MARGIN}v{HEIGHT}\" stroke=\"#ddd\"/>");
        label(&mut image, [x, HEIGHT + MARGIN + 18.0], "middle", &files.to_string());
    }
    label(&mut image, [MARGIN + WIDTH / 2.0, HEIGHT + MARGIN + 38.0], "middle", "files");
    for (tool, colour) in tools.iter().zip(COLOURS) {
        let points: Vec<(f64, f64)> = sizes
            .iter()
            .filter_map(|&files| Some((horizontal(files, &sizes), vertical(of(files, *tool)?))))
            .collect();
        let Some((x, y)) = points.last() else { continue };
        label(&mut image, [x + 6.0, y + 4.0], "start", tool.name());
        let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            image,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
            line.join(" ")
        );
    }
    image + "</svg>\n"
}

fn horizontal(files: usize, sizes: &BTreeSet<usize>) -> f64 {
    let log = |files: usize| (files.max(1) as f64).log10();
    let least = sizes.first().map_or(0.0, |files| log(*files));
    let most = sizes.last().map_or(1.0, |files| log(*files)).max(least + 0.1);
    MARGIN + WIDTH * (log(files) - least) / (most - least)
}

fn vertical(time: f64) -> f64 {
    MARGIN + HEIGHT * (1.0 - (time.log10() + 3.0) / 4.0)
}

fn label(image: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str) {
    let _ =
        writeln!(image, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

//! The results as a page of tables.

use crate::growth::{Against, Curve, exponent};
use crate::plan::{PLAN, Shape, Step};
use crate::tool::Program;
use crate::{Results, megabytes, seconds};
use std::fmt::Write;

/// A table for each project, then what the tools needed, and how their stores and times grow.
pub fn tables(results: &Results) -> String {
    let mut text = String::new();
    for shape in results.shapes() {
        let names = results.tools.iter().map(|tool| tool.name().to_owned());
        head(&mut text, &shape.to_string(), names);
        for (operation, _, _) in PLAN {
            let cells = results.tools.iter().map(|tool| cell(results, shape, *operation, *tool));
            row(&mut text, operation.title(), cells);
        }
        for (place, title) in ["most memory of a call", "size of the store"].iter().enumerate() {
            let needs =
                |tool: &Program| results.needs.get(&(shape, *tool)).map(|needs| needs[place]);
            let cells = results.tools.iter().map(|tool| match needs(tool) {
                Some(bytes) if *tool != Program::Walk => megabytes(bytes),
                _ => String::new(),
            });
            row(&mut text, title, cells);
        }
    }
    turns(&mut text, results);
    growth(&mut text, results);
    text
}

fn head(text: &mut String, title: &str, columns: impl ExactSizeIterator<Item = String>) {
    let rule = " ---: |".repeat(columns.len());
    let _ = writeln!(text, "\n## {title}\n");
    row(text, "", columns);
    let _ = writeln!(text, "| --- |{rule}");
}

fn row(text: &mut String, title: &str, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let _ = writeln!(text, "| {title} | {} |", cells.join(" | "));
}

fn turns(text: &mut String, results: &Results) {
    let Some(turns) = &results.turns else { return };
    let tools = results.tools.iter().filter(|tool| **tool != Program::Walk);
    let names: Vec<String> = tools.map(|tool| tool.name().to_owned()).collect();
    head(text, "The store after 100 turns of a real project", names.into_iter());
    for (title, sizes) in &turns.rows {
        row(text, title, sizes.iter().map(|size| megabytes(*size)));
    }
    let _ = writeln!(
        text,
        "\nThe turns are the last commits of this repository ({}). `herma` and hermes-agent keep the last 20\n\
         checkpoints, the others all of them.",
        megabytes(turns.project)
    );
}

fn growth(text: &mut String, results: &Results) {
    let Some(first) = results.growth.first() else { return };
    let counts = first.points.iter().map(|(count, _)| count.to_string());
    let columns: Vec<String> = counts.chain(["exponent".to_owned()]).collect();
    head(text, "How the times of `herma` grow", columns.into_iter());
    for Curve { against, step, points } in &results.growth {
        let of = match against {
            Against::Checkpoints => "checkpoints of the project",
            Against::Projects => "projects in the store",
        };
        let fitted = exponent(points).map(|exponent| format!("{exponent:.2}"));
        let cells = points.iter().map(|(_, time)| seconds(*time)).chain(fitted);
        row(text, &format!("{}, by the {of}", step.title()), cells);
    }
    let files = [Step::First, Step::Unchanged, Step::One, Step::List, Step::Prune];
    let fitted: Vec<String> = files
        .into_iter()
        .filter_map(|step| {
            Some(format!(
                "{} {:.2}",
                step.title(),
                exponent(&results.by_files(step, Program::Herma))?
            ))
        })
        .collect();
    let _ = writeln!(
        text,
        "\nA project of 100 files. The exponent `e` fits `time = c · count^e`: 0 does not grow, 1 grows as the count\n\
         does. By the number of files, from the tables above:\n\
         {}.",
        fitted.join(", ")
    );
}

/// The page with all tables.
pub fn page(results: &Results) -> String {
    format!(
        "# Speed\n\n\
         Written by `just bench --turns . --page docs/speed.md`. Each tool has a project and a store of its own, and\n\
         they take turns for each operation. A cell is the median, the smallest and largest value, and how many times\n\
         as long as `herma` it takes. Only the ratios say something about another machine.\n\n\
         `herma`, `git` (add, write-tree, commit-tree, update-ref) and `restic` are whole processes. hermes-agent is a\n\
         process that stays, so only its calls are timed. A restore first saves the present state; for git, that is\n\
         another commit. Memory is that of the processes of a call, without pages of files.\n\n\
         ![A checkpoint of one changed file, by the number of files](speed.svg)\n{}\n{}",
        tables(results),
        include_str!("goals.md")
    )
}

fn cell(results: &Results, shape: Shape, operation: Step, tool: Program) -> String {
    let of = |tool| results.median(shape, operation, tool);
    let Some(median) = of(tool) else { return String::new() };
    let all = &results.times[&(shape, operation, tool)];
    let least = all.iter().copied().fold(f64::MAX, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let spread = format!("{} ({} to {})", seconds(median), seconds(least), seconds(most));
    match of(Program::Herma).filter(|_| tool != Program::Herma) {
        Some(herma) => format!("{spread}, {:.1} ×", median / herma),
        None => spread,
    }
}

//! The plot: how long a checkpoint of one changed file takes, by the number of files.

use crate::plan::Step;
use crate::{Results, seconds};
use std::collections::BTreeSet;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// The room for labels.
const MARGIN: f64 = 64.0;
/// The least distance between the names of two curves.
const NAME_HEIGHT: f64 = 14.0;
/// Colours that differ for colour-blind readers, too.
const COLOURS: [&str; 5] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#000000"];

/// The time of a checkpoint of one changed file (upwards) by the number of files, both logarithmic.
pub fn plot(results: &Results) -> String {
    let curves = results.tools.iter().map(|tool| (tool, results.by_files(Step::One, *tool)));
    let curves: Vec<_> = curves.filter(|(_, curve)| !curve.is_empty()).collect();
    let sizes: BTreeSet<usize> =
        curves.iter().flat_map(|(_, curve)| curve).map(|(files, _)| *files).collect();
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        WIDTH + 3.2 * MARGIN,
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
    let mut names = Vec::new();
    for ((tool, curve), colour) in curves.into_iter().zip(COLOURS) {
        let point = |(files, time)| (horizontal(files, &sizes), vertical(time));
        let points: Vec<(f64, f64)> = curve.into_iter().map(point).collect();
        let Some((x, y)) = points.last() else { continue };
        names.push((*y, *x, tool.name()));
        let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            image,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
            line.join(" ")
        );
    }
    // Curves that end close to each other have names one below the other.
    names.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut free = 0.0_f64;
    for (y, x, name) in names {
        let y = y.max(free);
        label(&mut image, [x + 6.0, y + 4.0], "start", name);
        free = y + NAME_HEIGHT;
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

//! The plot: for each generator, a curve of the bugs found (upwards) by the histories run (to the right, on a
//! logarithmic scale).

use crate::page::BugRow;
use crate::search::{Generator, SearchResult};
use herma_harness::planted::hunt::HISTORIES_MAX;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// The room for labels at the left and the bottom.
const MARGIN: f64 = 48.0;
/// Colours that differ for colour-blind readers, too.
const COLOURS: [&str; 5] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#000000"];

/// The plot as an SVG image.
pub fn plot(generators: &[Generator], rows: &[BugRow]) -> String {
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        WIDTH + 2.0 * MARGIN,
        HEIGHT + 2.0 * MARGIN,
    );
    for exponent in 0..=HISTORIES_MAX.ilog10() {
        let histories = 10_u64.pow(exponent);
        let x = horizontal(histories);
        label(&mut image, [x, HEIGHT + MARGIN + 18.0], "middle", &histories.to_string());
        line(&mut image, [x, MARGIN, x, HEIGHT + MARGIN], "#dddddd");
    }
    for percent in (0..=100).step_by(20) {
        let y = vertical(f64::from(percent) / 100.0);
        label(&mut image, [MARGIN - 6.0, y + 4.0], "end", &format!("{percent}%"));
        line(&mut image, [MARGIN, y, WIDTH + MARGIN, y], "#dddddd");
    }
    label(&mut image, [MARGIN + WIDTH / 2.0, HEIGHT + MARGIN + 38.0], "middle", "histories");
    for (column, (generator, colour)) in generators.iter().zip(COLOURS).enumerate() {
        let points = curve(rows, column);
        let _ = writeln!(
            image,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{points}\"/>"
        );
        let y = HEIGHT + MARGIN - 16.0 - 18.0 * column as f64;
        let x = WIDTH + MARGIN - 310.0;
        line(&mut image, [x, y - 4.0, x + 24.0, y - 4.0], colour);
        label(&mut image, [x + 30.0, y], "start", generator.name());
    }
    image + "</svg>\n"
}

/// The points of a curve: a step upwards for each found bug.
fn curve(rows: &[BugRow], column: usize) -> String {
    let outcomes = rows.iter().map(|row| &row.results[column]);
    let searched = outcomes.filter(|outcome| !matches!(outcome, SearchResult::NotRun));
    let total = searched.clone().count().max(1) as f64;
    let found = searched.filter_map(SearchResult::found);
    let mut histories: Vec<u64> = found.map(|found| found.histories).collect();
    histories.sort_unstable();
    let mut points = String::new();
    let mut height = vertical(0.0);
    for (count, histories) in histories.iter().enumerate() {
        let x = horizontal(*histories);
        let _ = write!(points, "{x:.1},{height:.1} ");
        height = vertical((count + 1) as f64 / total);
        let _ = write!(points, "{x:.1},{height:.1} ");
    }
    let _ = write!(points, "{:.1},{height:.1}", horizontal(HISTORIES_MAX));
    points
}

fn horizontal(histories: u64) -> f64 {
    let share = (histories.max(1) as f64).log10() / (HISTORIES_MAX as f64).log10();
    MARGIN + WIDTH * share.min(1.0)
}

fn vertical(share: f64) -> f64 {
    MARGIN + HEIGHT * (1.0 - share)
}

fn line(image: &mut String, [x1, y1, x2, y2]: [f64; 4], colour: &str) {
    let _ = writeln!(
        image,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn label(image: &mut String, [x, y]: [f64; 2], anchor: &str, text: &str) {
    let _ =
        writeln!(image, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

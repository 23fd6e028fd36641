//! The chart of submitted reports: for each implementation a bar of the rules that it held and broke, that were not
//! exercised, and that were not applicable.

use super::ConformanceReport;
use crate::suite::Verdict;
use herma_model::rules;
use std::fmt::Write;

const ROW_HEIGHT: usize = 24;
const BAR_HEIGHT: usize = 16;
/// The room for the names at the left, and for the legend above the bars.
const LEFT: usize = 200;
const TOP: usize = 40;
/// Pixels for each rule, and for each digit.
const RULE_WIDTH: usize = 4;
const DIGIT_WIDTH: usize = 8;

/// What a part of a bar counts: its verdicts, its colour, which differs for colour-blind readers, too, and its name.
const PARTS: [(&[Verdict], &str, &str); 4] = [
    (&[Verdict::Held], "#009e73", "held"),
    (&[Verdict::Broken], "#d55e00", "broken"),
    (&[Verdict::NotExercised, Verdict::Unstable], "#999999", "not exercised"),
    (&[Verdict::NotApplicable], "#e5e5e5", "not applicable"),
];

/// The chart as an SVG image.
pub fn chart(reports: &[ConformanceReport]) -> String {
    let width = LEFT + RULE_WIDTH * rules::catalogue().count() + 20;
    let height = TOP + ROW_HEIGHT * reports.len() + 10;
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (column, (_, colour, name)) in PARTS.iter().enumerate() {
        let x = LEFT + 120 * column;
        let _ = writeln!(
            image,
            "<rect x=\"{x}\" y=\"12\" width=\"12\" height=\"12\" fill=\"{colour}\"/>"
        );
        let _ = writeln!(image, "<text x=\"{}\" y=\"22\">{name}</text>", x + 18);
    }
    for (row, report) in reports.iter().enumerate() {
        bar(&mut image, TOP + ROW_HEIGHT * row, report);
    }
    image + "</svg>\n"
}

/// Draws the bar of an implementation, `y` pixels from the top, with the number of rules in each part.
fn bar(image: &mut String, y: usize, report: &ConformanceReport) {
    let subject = &report.subject;
    let base = y + BAR_HEIGHT - 4;
    let _ = writeln!(
        image,
        "<text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{} {}</text>",
        LEFT - 8,
        subject.name,
        subject.version
    );
    let mut x = LEFT;
    for (verdicts, colour, _) in PARTS {
        let is_counted =
            |id: &str| report.verdict(id).is_some_and(|found| verdicts.contains(&found));
        let count = rules::catalogue().filter(|rule| is_counted(rule.id)).count();
        if count == 0 {
            continue;
        }
        let width = RULE_WIDTH * count;
        let _ = writeln!(
            image,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BAR_HEIGHT}\" fill=\"{colour}\"/>"
        );
        // The next part would cover a number that is wider than its own.
        let number = count.to_string();
        if DIGIT_WIDTH * number.len() + 2 <= width {
            let _ = writeln!(image, "<text x=\"{}\" y=\"{base}\">{number}</text>", x + 2);
        }
        x += width;
    }
}

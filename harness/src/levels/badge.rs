//! A badge with the earned levels: as an SVG image, or as the JSON document that badge services read.

use super::ConformanceReport;
use serde_json::json;

/// About the width of a character of the badge's font.
const CHARACTER_WIDTH: usize = 7;

fn label(report: &ConformanceReport) -> String {
    format!("herma {}", report.rule_book)
}

fn message(report: &ConformanceReport) -> String {
    if report.levels.is_empty() { "no level".into() } else { report.levels.join(", ") }
}

/// The document of a badge service.
pub fn endpoint(report: &ConformanceReport) -> String {
    let color = if report.levels.is_empty() { "lightgrey" } else { "brightgreen" };
    let document = json!({
        "schemaVersion": 1, "label": label(report), "message": message(report), "color": color,
    });
    format!("{document}\n")
}

/// The image; its texts are names of levels and a version, which need no escape.
pub fn svg(report: &ConformanceReport) -> String {
    let label = label(report);
    let message = message(report);
    let left = label.len() * CHARACTER_WIDTH + 12;
    let right = message.len() * CHARACTER_WIDTH + 12;
    let width = left + right;
    let color = if report.levels.is_empty() { "#5c5f69" } else { "#17663a" };
    let label_at = left / 2;
    let message_at = left + right / 2;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img">
<title>{label}: {message}</title>
<rect width="{width}" height="20" rx="3" fill="{color}"/>
<path d="M3 0h{corner}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#35383f"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{label_at}" y="14">{label}</text>
<text x="{message_at}" y="14">{message}</text>
</g>
</svg>
"##,
        corner = left - 3,
    )
}

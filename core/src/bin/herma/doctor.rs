//! `herma doctor`: whether checkpoints can work here, in JSON or as a page for people.
//!
//! The library makes the checks and judges them.

use crate::commands::{Answer, Failure};
use crate::pages::Page;
use crate::text::{Style, Tone, count, line};
use herma_core::doctor::{Check, Examined, Finding, Surroundings, Verdict, examine};

/// The column in which findings begin.
const INDENT: usize = 24;

/// Examines the surroundings, and returns the findings, with those about hooks.
pub fn answer(
    json: bool,
    style: Style,
    surroundings: &Surroundings<'_>,
    of_hooks: Vec<Finding>,
) -> Result<Answer, Failure> {
    let mut examined = examine(surroundings);
    examined.findings.extend(of_hooks);
    let worst = examined.findings.iter().map(|finding| finding.verdict).max();
    examined.verdict = worst.unwrap_or(Verdict::Ok);
    let answer = Answer::of(json, &examined, || page(style, &examined))?;
    if examined.verdict < Verdict::Trouble {
        return Ok(answer);
    }
    let troubles = findings_with(&examined, Verdict::Trouble);
    let problems = count(troubles, "problem", "problems");
    let message = format!("{problems} to fix before checkpoints work: follow the advice (->)");
    Ok(answer.incomplete("trouble", message))
}

/// How many findings have this verdict.
fn findings_with(examined: &Examined, verdict: Verdict) -> usize {
    examined.findings.iter().filter(|finding| finding.verdict == verdict).count()
}

fn page(style: Style, examined: &Examined) -> String {
    let mut page = Page::default();
    for Finding { check, verdict, found, advice } in &examined.findings {
        let (word, tone) = match verdict {
            Verdict::Ok => ("ok", Tone::Good),
            Verdict::Notice => ("notice", Tone::Notable),
            Verdict::Trouble => ("trouble", Tone::Bad),
        };
        let word = style.paint(tone, &format!("{word:<9}"));
        writeln!(page, "{word}{:<15}{}", name(*check), line(found));
        if let Some(advice) = advice {
            writeln!(page, "{:INDENT$}-> {}", "", line(advice));
        }
    }
    let notices = findings_with(examined, Verdict::Notice);
    if examined.verdict < Verdict::Trouble {
        let notices = match notices {
            0 => String::new(),
            _ => format!(" ({} to read)", count(notices, "notice", "notices")),
        };
        writeln!(page, "\nCheckpoints work here{notices}");
    }
    page.0
}

/// The name of a check on the page.
fn name(check: Check) -> &'static str {
    match check {
        Check::Home => "home",
        Check::Configuration => "configuration",
        Check::Automatic => "automatic",
        Check::Base => "store",
        Check::Privacy => "privacy",
        Check::Space => "space",
        Check::Clock => "clock",
        Check::Locks => "locks",
        Check::Project => "project",
        Check::LetterCase => "letter case",
        Check::Agent => "agent",
        Check::Hooks => "hooks",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_escapes_control_characters_and_colours_only_the_verdict_on_a_terminal() {
        let finding = Finding {
            check: Check::Base,
            verdict: Verdict::Trouble,
            found: "a\x1b[2J".to_owned(),
            advice: Some("b\nc".to_owned()),
        };
        let examined = Examined { verdict: Verdict::Trouble, findings: vec![finding] };
        let shown = |terminal| {
            let style = Style::of_output(terminal, |name| (name == "TERM").then(|| "xterm".into()));
            page(style, &examined)
        };
        let advice = format!("{:INDENT$}-> b\\nc\n", "");
        assert_eq!(shown(false), format!("trouble  store          a\\x1b[2J\n{advice}"));
        assert_eq!(
            shown(true),
            format!("\x1b[31mtrouble  \x1b[mstore          a\\x1b[2J\n{advice}")
        );
    }
}

//! Tests of the page for a browser.

use super::*;
use crate::results::junit::tests::results;
use herma_model::rules;

/// Two versions of one implementation; the newer one has a failure whose texts contain markup.
fn two_versions() -> [Results; 2] {
    let mut old = results("too many", "three");
    old.failures.clear();
    old.rules[1].verdict = Verdict::Held;
    let mut new = results("too <many>", "<script>alert(1)</script>");
    new.started.subject.version = "1.10.0".into();
    new.failures[0].asked = ["at call 2 of the next request: kill", "> {\"op\":\"list\"}", "< {}"]
        .map(str::to_owned)
        .to_vec();
    [new, old]
}

#[test]
fn page_has_a_section_for_every_rule_and_failure_and_every_link_has_its_anchor() {
    let page = page(&two_versions()).unwrap();
    for rule in rules::catalogue() {
        assert!(page.contains(&format!("id=\"{}\"", rule_anchor(rule.id))), "{}", rule.id);
    }
    let links: Vec<&str> = page.split("href=\"#").skip(1).collect();
    for link in &links {
        let anchor = link.split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
    assert!(links.iter().any(|link| link.starts_with("failure-1-0\"")));
    let ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let distinct: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
}

#[test]
fn page_needs_no_network_and_escapes_what_a_subject_replied() {
    let page = page(&two_versions()).unwrap();
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(1)"));
    for attribute in ["src=", "href=\"http", "@import", "url("] {
        assert!(!page.contains(attribute), "{attribute}");
    }
}

#[test]
fn page_orders_versions_and_lists_what_changed_between_them() {
    let page = page(&two_versions()).unwrap();
    assert!(page.find("1.2.3").unwrap() < page.find("1.10.0").unwrap());
    assert!(page.contains("Newly broken: 1"));
    assert!(!super::page(&two_versions()[..1]).unwrap().contains("Newly broken"));
    assert!(page.contains("<li class=\"injection\">"));
}

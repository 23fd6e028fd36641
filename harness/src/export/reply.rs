//! Replies without the parts that differ in each run.

/// A reply without the parts that differ in each run, as `plain` of the script returns it.
pub(super) fn without_variable_parts(reply: &str, root: &str, ids: &[String]) -> String {
    let mut line = reply.trim_end().replace(root, "ROOT");
    for id in ids.iter().filter(|id| id.len() >= 4) {
        line = line.replace(id.as_str(), "ID");
    }
    let mut text = String::new();
    let mut run = String::new();
    for character in line.chars().map(Some).chain([None]) {
        match character {
            Some(digit) if digit.is_ascii_digit() || ('a'..='f').contains(&digit) => {
                run.push(digit)
            }
            character => {
                text.push_str(if run.len() >= 7 { "#" } else { &run });
                run.clear();
                text.extend(character);
            }
        }
    }
    let text = without_value(&text, "\"id\":", |value| {
        Some(value.trim_start_matches(|digit: char| digit.is_ascii_digit()))
    });
    without_value(&text, "\"message\":", |value| {
        let mut rest = value.strip_prefix('"')?.chars();
        let mut is_escaped = false;
        while is_escaped || !rest.as_str().starts_with('"') {
            is_escaped = rest.next()? == '\\' && !is_escaped;
        }
        rest.as_str().get(1..)
    })
}

/// The line without the first value of a field; `skip_value` returns the text after the value.
fn without_value(line: &str, field: &str, skip_value: impl Fn(&str) -> Option<&str>) -> String {
    let Some((before, value)) = line.split_once(field) else { return line.to_owned() };
    let value = value.trim_start_matches(' ');
    match skip_value(value).filter(|rest| rest.len() < value.len()) {
        Some(rest) => format!("{before}{field}#{rest}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_variable_parts_leaves_ids_times_and_messages_out_of_a_reply() {
        let ids = ["c0ffee-1".to_owned()];
        for (reply, plain) in [
            (
                r#"{"id": 12, "ok": {"id": "c0ffee-1", "time": 1773635760}}"#,
                r#"{"id":#, "ok": {"id": "ID", "time": #}}"#,
            ),
            (r#"{"id":"a12","ok":["/tmp/x/y"]}"#, r#"{"id":"a12","ok":["ROOT/y"]}"#),
            (
                r#"{"id":3,"err":{"code":"internal","message":"a \\\"b\\\" c"}}"#,
                r#"{"id":#,"err":{"code":"internal","message":#}}"#,
            ),
            (r#"{"id":3,"err":{"message":"no end"#, r#"{"id":#,"err":{"message":"no end"#),
        ] {
            assert_eq!(without_variable_parts(reply, "/tmp/x", &ids), plain);
        }
    }
}

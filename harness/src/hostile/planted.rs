//! A planted bug for each fuzz target of a text or a file: an input that a careless reader would not survive. The
//! fuzzer must find it within a bound, which shows that it gets that deep. Whole histories have the planted bugs
//! of [`crate::planted`].

/// What the careless reader does wrong, if the input shows it.
pub fn shows(target: &str, input: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(input);
    let has = |part: &str| text.contains(part);
    let number = |at: usize| Some(u32::from_be_bytes(input.get(at..at + 4)?.try_into().ok()?));
    let shown = match target {
        "command" => (has("<<") && has("$("), "a command in a here document is not searched"),
        "configuration" => (has("snapshots: -"), "a negative number is read as a large one"),
        "ignore_file" => (has("[!") && has("**"), "a negated class matches slashes"),
        "request_line" => (has("\"dir\":\"\""), "an empty directory is the current one"),
        "reply_line" => (has("\"id\":0,") || has("\"id\":0}"), "ids count from 0"),
        "rollback_arguments" => (has("\"\"") || has("''"), "an empty word is dropped"),
        "stored_tree" => {
            (input.windows(2).any(|pair| pair == [0, 3]), "`.git` is an ordinary name")
        }
        "index" => (number(8).is_some_and(|entries| entries > 1 << 20), "memory for all entries"),
        "figures" => (has(" -1 "), "a number is never negative"),
        "metadata" => (has("\"last_touch\":-"), "times are never before 1970"),
        "prune_marker" => (has("e9") || has("E9"), "seconds have no exponent"),
        "usage" => (input.len() == 9, "a file of one byte more is as good"),
        "store_config" => (has("[include"), "included files are read"),
        "head" => (text.starts_with("ref: /"), "a ref is an absolute path"),
        "project_ref" => (text.starts_with("ref:"), "a symbolic ref is followed for ever"),
        "packed_refs" => (text.starts_with('^'), "a peeled line needs no ref before it"),
        "shallow" => (has("\r\n"), "a line ends in a carriage return"),
        "exclude" => (has("!.env"), "a secret is included again"),
        "restore_mark" => (has("{}"), "every field is there"),
        "restore_journal" => (has("\"directory\":[46"), "a directory may be relative"),
        "attribution_log" => (has("[]"), "there is a first event"),
        "agent_state" => (has("[["), "a state is never nested"),
        "external_actions" => (has("\"number\":0"), "actions count from 1"),
        "v1_head" => (text.is_empty(), "a HEAD is never empty"),
        "v1_directory" => (has(".."), "a directory is canonical"),
        "loose_commit" | "loose_blob" => (input.len() > 2 && input[1] & 0x20 != 0, "a dictionary"),
        "commit" => (text.matches("tree ").count() > 1, "the last tree counts"),
        "tree" => (has("40000 .git\0"), "`.git` is an ordinary name"),
        "envelope" => (has("\"version\": 2"), "the version is not looked at"),
        "pack" => (input.get(12).is_some_and(|byte| byte >> 4 & 7 == 7), "a delta has its base"),
        "pack_index" => (number(1028).is_some_and(|count| count > 1 << 20), "memory for all ids"),
        _ => return None,
    };
    shown.0.then_some(shown.1)
}

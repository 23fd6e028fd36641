//! The patterns that the user included when a checkpoint was taken, in a header of its commit. A restore must know
//! them: what was excluded then is not absent from the checkpoint.

/// The first line, with the version of the format. Every other line is a pattern after a space.
const FIRST: &[u8] = b"herma-include 1";

/// The header of a commit; empty without patterns. No pattern contains a newline.
pub fn to_header(patterns: &[String]) -> Vec<u8> {
    if patterns.is_empty() {
        return Vec::new();
    }
    let patterns = patterns.iter().map(|pattern| format!(" {pattern}\n"));
    [FIRST, b"\n", patterns.collect::<String>().as_bytes()].concat()
}

/// The patterns in the headers of a commit; none if they cannot be read, so that the default excludes hold.
pub fn of_headers(headers: &[u8]) -> Vec<String> {
    let mut lines = headers.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    if !lines.any(|line| line == FIRST) {
        return Vec::new();
    }
    let lines = lines.map_while(|line| line.strip_prefix(b" "));
    let patterns = lines.map(|line| std::str::from_utf8(line).ok().map(str::to_owned));
    patterns.collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_headers_reads_what_to_header_wrote_and_nothing_of_the_message() {
        let patterns = ["dist/".to_owned(), "/a b\\ \u{fc}".to_owned()];
        let header = to_header(&patterns);
        assert_eq!(header, "herma-include 1\n dist/\n /a b\\ \u{fc}\n".as_bytes());
        let commit = [b"tree 1\n", &header[..], b"herma-units 1\n\n later\n"].concat();
        assert_eq!(of_headers(&commit), patterns);
        assert_eq!(to_header(&[]), b"");
        for headers in [
            &b"tree 1\n\nherma-include 1\n dist/\n"[..],
            b"herma-include 2\n dist/\n",
            b"herma-include 1\n dist/\n \xff\n",
        ] {
            assert_eq!(of_headers(headers), [""; 0], "{}", headers.escape_ascii());
        }
    }
}

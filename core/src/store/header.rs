//! Escapes paths and texts for the headers of a commit. In a header of several lines, every line but
//! the first begins with a space.

/// Escapes newlines, which would end the line, and backslashes.
pub fn escaped(text: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\\' => line.extend_from_slice(b"\\\\"),
            byte => line.push(*byte),
        }
    }
    line
}

/// Reverses [`escaped`]; `None` if the last escape is truncated.
pub fn unescaped(line: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'\\' if *bytes.next()? == b'n' => b'\n',
            byte => *byte,
        });
    }
    Some(text)
}

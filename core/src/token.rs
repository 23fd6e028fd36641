//! The token that a preview returns, so that a restore does what the preview showed and nothing else.

use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Identifies the changes of a restore, and the present content that they would replace. Equal tokens
/// mean that the same restore would make the same changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token([u8; 8]);

impl Token {
    /// The token of this token and these texts together.
    pub fn and(self, texts: impl Iterator<Item = String>) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0);
        for text in texts {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        Token::of(hash)
    }

    /// The token of the hashed bytes.
    pub(crate) fn of(hash: Sha256) -> Self {
        let digest = hash.finalize();
        let mut token = [0; 8];
        token.copy_from_slice(&digest[..8]);
        Token(token)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl FromStr for Token {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.len() != 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        u64::from_str_radix(text, 16).map(|number| Token(number.to_be_bytes())).map_err(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_str_reads_what_display_writes_and_refuses_everything_else() {
        let token = Token([0, 1, 0xab, 3, 4, 5, 6, 0xff]);
        assert_eq!(token.to_string(), "0001ab03040506ff");
        assert_eq!(token.to_string().parse(), Ok(token));
        for wrong in
            ["", "0001ab03040506f", "0001ab03040506ff0", "+001ab03040506ff", "äb01ab03040506ff"]
        {
            assert_eq!(wrong.parse::<Token>(), Err(()), "{wrong}");
        }
    }
}

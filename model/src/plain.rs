//! Values as a reader of a report sees them: in the form in which the protocol carries them, so that
//! nobody has to know the types of this program.

use serde::Serialize;

/// The value as a line of JSON.
pub fn plain<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("(what has no text: {error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, Changed, Code};
    use crate::bytes::ByteString;
    use std::collections::BTreeSet;

    #[test]
    fn an_answer_is_shown_as_its_line_has_it() {
        let (code, changed) = (Code::Busy, Changed::None);
        let refused = Answer::Refused { code, message: "later".into(), changed };
        assert_eq!(
            plain(&refused),
            r#"{"refused":{"code":"busy","message":"later","changed":"none"}}"#
        );
        let paths = BTreeSet::from([ByteString::from("a b")]);
        assert_eq!(plain(&paths), r#"["a b"]"#);
        assert_eq!(plain(&None::<String>), "null");
    }
}

//! Values as reports show them: in the serialized form of the protocol, so that a reader need not know
//! the types of this program.

use serde::Serialize;

/// The value as a line of JSON.
pub fn plain<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|error| format!("(a value without a text: {error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, Changed, Code};
    use crate::bytes::ByteString;
    use std::collections::BTreeSet;

    #[test]
    fn plain_returns_a_value_as_the_protocol_serializes_it() {
        let code = Code::Busy;
        let changed = Changed::None;
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

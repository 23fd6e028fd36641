use super::*;

#[test]
fn page_is_a_page() {}

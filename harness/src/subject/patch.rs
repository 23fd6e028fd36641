//! The body of a patch that names some files, in each form in which the core reads one.

use herma_model::ByteString;
use herma_model::tool::PatchForm;

/// A patch that changes one line of each file.
pub(super) fn body(form: PatchForm, files: &[ByteString]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut lines = |parts: &[&[u8]]| parts.iter().for_each(|part| body.extend_from_slice(part));
    if form == PatchForm::Envelope {
        lines(&[b"*** Begin Patch\n"]);
    }
    for file in files {
        if form == PatchForm::Git {
            lines(&[b"diff --git a/", file, b" b/", file, b"\n"]);
        }
        match form {
            PatchForm::Envelope => lines(&[b"*** Update File: ", file, b"\n@@\n"]),
            PatchForm::Git | PatchForm::Unified => {
                lines(&[b"--- a/", file, b"\n+++ b/", file, b"\n@@ -1 +1 @@\n"]);
            }
        }
        lines(&[b"-a\n+b\n"]);
    }
    if form == PatchForm::Envelope {
        lines(&[b"*** End Patch\n"]);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_reads_every_form() {
        for form in [PatchForm::Envelope, PatchForm::Git, PatchForm::Unified] {
            let body = body(form, &["a.txt".into(), "src/b".into()]);
            let named = herma_core::triggers::patch::paths(&body);
            assert_eq!(named, [b"a.txt".to_vec(), b"src/b".to_vec()], "{form:?}");
        }
    }
}

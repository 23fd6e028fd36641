//! Simpler edits: less content, simpler paths, or a simpler kind of edit.

use super::values::paths;
use herma_model::bytes::SHOWN_MAX;
use herma_model::{ByteString, Edit};

/// A file that exists from the start.
pub const SENTINEL: &[u8] = b"outside/secret.txt";

/// Edits that may replace `edit`, not all of them simpler.
pub fn proposals(edit: Edit) -> Vec<Edit> {
    match edit {
        Edit::Write { path, content, executable } => writes(&path, &content, executable),
        Edit::Rewrite { path, content } => rewrites(path, content),
        Edit::Link { path, target } => {
            let simpler_paths = paths(&path).into_iter();
            let mut proposals: Vec<_> =
                simpler_paths.map(|path| Edit::Link { path, target: target.clone() }).collect();
            proposals.push(Edit::Link { path, target: "x".into() });
            proposals
        }
        Edit::Remove { path } => {
            paths(&path).into_iter().map(|path| Edit::Remove { path }).collect()
        }
        Edit::Fill { path, files } => {
            let fewer =
                [0, files / 2, files - files / 4, files - files / 8, files.saturating_sub(1)];
            let fewer = fewer.map(|files| Edit::Fill { path: path.clone(), files });
            let simpler_paths = paths(&path).into_iter();
            fewer.into_iter().chain(simpler_paths.map(|path| Edit::Fill { path, files })).collect()
        }
        Edit::MakeDirectory { path } => {
            paths(&path).into_iter().map(|path| Edit::MakeDirectory { path }).collect()
        }
        Edit::MakeSpecial { path, kind } => {
            paths(&path).into_iter().map(|path| Edit::MakeSpecial { path, kind }).collect()
        }
        Edit::SetReadable { path, readable } => {
            paths(&path).into_iter().map(|path| Edit::SetReadable { path, readable }).collect()
        }
        Edit::SetPermissions { path, bits } => {
            let simpler_paths = paths(&path).into_iter();
            let mut proposals: Vec<_> =
                simpler_paths.map(|path| Edit::SetPermissions { path, bits }).collect();
            proposals.push(Edit::SetPermissions { path: path.clone(), bits: 0o600 });
            if bits & 0o100 != 0 {
                proposals.push(Edit::Write { path, content: "".into(), executable: true });
            }
            proposals
        }
        Edit::SetFolderPermissions { path, bits } => {
            let simpler_paths = paths(&path).into_iter();
            let mut proposals: Vec<_> =
                simpler_paths.map(|path| Edit::SetFolderPermissions { path, bits }).collect();
            proposals.push(Edit::SetFolderPermissions { path, bits: 0o700 });
            proposals
        }
        Edit::SetFolderReadable { path, readable } => {
            let simpler_paths = paths(&path).into_iter();
            simpler_paths.map(|path| Edit::SetFolderReadable { path, readable }).collect()
        }
        Edit::HardLink { path, to } => hard_links(&path, &to),
        Edit::Rename { from, to } => renames(&from, &to),
    }
}

/// A write with less content, or to a simpler path.
fn writes(path: &ByteString, content: &ByteString, executable: bool) -> Vec<Edit> {
    let write = |path: &ByteString, content: &[u8], executable| Edit::Write {
        path: path.clone(),
        content: content.into(),
        executable,
    };
    let mut proposals = vec![
        write(path, b"", executable),
        write(path, b"1", executable),
        write(path, b"2", executable),
        write(path, &content[..content.len() / 2], executable),
        write(path, content, false),
    ];
    // Half of a long content may be too little where a bit less is enough.
    if content.len() > SHOWN_MAX {
        let parts = [content.len() / 8, content.len() / 64];
        proposals
            .extend(parts.map(|less| write(path, &content[..content.len() - less], executable)));
    }
    proposals.extend(paths(path).iter().map(|path| write(path, content, executable)));
    proposals
}

/// A rewrite with less content or of a simpler path, or a plain write.
fn rewrites(path: ByteString, content: ByteString) -> Vec<Edit> {
    let rewrite = |path: &ByteString, content: &[u8]| Edit::Rewrite {
        path: path.clone(),
        content: content.into(),
    };
    let mut proposals: Vec<_> = [b"1", b"2"].map(|content| rewrite(&path, content)).into();
    proposals.extend(paths(&path).iter().map(|path| rewrite(path, &content)));
    proposals.push(Edit::Write { path, content, executable: false });
    proposals
}

/// A hard link at or to a simpler path, or to the sentinel.
fn hard_links(path: &ByteString, to: &ByteString) -> Vec<Edit> {
    let link =
        |path: &ByteString, to: &ByteString| Edit::HardLink { path: path.clone(), to: to.clone() };
    let sentinel = ByteString::from(SENTINEL);
    let mut proposals: Vec<_> = paths(path).iter().map(|path| link(path, to)).collect();
    proposals.extend([link(path, &sentinel), link(to, &sentinel)]);
    proposals.extend(paths(to).iter().map(|to| link(path, to)));
    proposals
}

/// A rename from or to a simpler path, or a write of the renamed file.
fn renames(from: &ByteString, to: &ByteString) -> Vec<Edit> {
    let rename =
        |from: &ByteString, to: &ByteString| Edit::Rename { from: from.clone(), to: to.clone() };
    let mut proposals: Vec<_> = paths(from).iter().map(|from| rename(from, to)).collect();
    proposals.extend(["", "1"].map(|content| Edit::Write {
        path: to.clone(),
        content: content.into(),
        executable: false,
    }));
    proposals.extend(paths(to).iter().map(|to| rename(from, to)));
    proposals
}

//! Classifies I/O errors by what they mean for the path.

use std::io;

/// Whether an error concerns only this path, which can then be left out: permission is missing, the
/// file is withheld, it changed its kind, or it keeps changing. Any other error means that the disk
/// fails.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    // A missing permission does not tell the kind of the entry.
    error.kind() == io::ErrorKind::PermissionDenied || is_withheld(error) || is_another_kind(error)
}

/// Whether an error means that the path is not a regular file.
pub(crate) fn is_another_kind(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, ResourceBusy};
    // Links and sockets fail to open with codes of their own.
    let is_link_or_socket = matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO));
    is_link_or_socket
        || matches!(error.kind(), InvalidFilename | InvalidInput | NotADirectory | ResourceBusy)
}

/// Whether an error means that a file exists and cannot be read now: another process holds a lease on
/// it, or the server or the encryption key of its folder is gone.
fn is_withheld(error: &io::Error) -> bool {
    use io::ErrorKind::{NotConnected, StaleNetworkFileHandle, WouldBlock};
    #[cfg(target_os = "linux")]
    let has_no_key = error.raw_os_error() == Some(libc::ENOKEY);
    #[cfg(not(target_os = "linux"))]
    let has_no_key = false;
    has_no_key || matches!(error.kind(), NotConnected | StaleNetworkFileHandle | WouldBlock)
}

/// Whether an error means that nothing exists at a path, rather than that the path cannot be examined.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_unreadable_covers_withheld_files_and_is_another_kind_does_not() {
        let error = io::Error::from_raw_os_error;
        for code in [libc::EAGAIN, libc::ENOTCONN, libc::ESTALE, libc::EACCES] {
            assert!(is_unreadable(&error(code)) && !is_another_kind(&error(code)), "{code}");
        }
        #[cfg(target_os = "linux")]
        assert!(is_unreadable(&error(libc::ENOKEY)) && !is_another_kind(&error(libc::ENOKEY)));
        assert!(is_unreadable(&error(libc::ELOOP)) && is_another_kind(&error(libc::ELOOP)));
        for code in [libc::EIO, libc::ENOSPC, libc::EMFILE] {
            assert!(!is_unreadable(&error(code)), "{code}");
        }
    }
}

//! What an error of the system says of the path that it is about.

use std::io;

/// Whether an error is about this one path, which can be left out: there is no permission, it
/// is withheld, it became something else, or it keeps changing. Any other error means that the disk
/// fails.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    // That it may not be read says nothing of what it is.
    error.kind() == io::ErrorKind::PermissionDenied || is_withheld(error) || is_another_kind(error)
}

/// Whether an error says that what is at a path is no regular file.
pub(crate) fn is_another_kind(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, ResourceBusy};
    // Links and sockets fail to open with codes of their own.
    let became_another = matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO));
    became_another
        || matches!(error.kind(), InvalidFilename | InvalidInput | NotADirectory | ResourceBusy)
}

/// Whether an error says that a file is there and cannot be had now: another process has leased it,
/// or what serves its folder is gone, or the key of its folder.
fn is_withheld(error: &io::Error) -> bool {
    use io::ErrorKind::{NotConnected, StaleNetworkFileHandle, WouldBlock};
    #[cfg(target_os = "linux")]
    let has_no_key = error.raw_os_error() == Some(libc::ENOKEY);
    #[cfg(not(target_os = "linux"))]
    let has_no_key = false;
    has_no_key || matches!(error.kind(), NotConnected | StaleNetworkFileHandle | WouldBlock)
}

/// Whether an error says that nothing is at a path, rather than that it could not be seen.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_withheld_is_left_out_and_is_a_file_all_the_same() {
        let of = io::Error::from_raw_os_error;
        for code in [libc::EAGAIN, libc::ENOTCONN, libc::ESTALE, libc::EACCES] {
            assert!(is_unreadable(&of(code)) && !is_another_kind(&of(code)), "{code}");
        }
        #[cfg(target_os = "linux")]
        assert!(is_unreadable(&of(libc::ENOKEY)) && !is_another_kind(&of(libc::ENOKEY)));
        assert!(is_unreadable(&of(libc::ELOOP)) && is_another_kind(&of(libc::ELOOP)));
        for code in [libc::EIO, libc::ENOSPC, libc::EMFILE] {
            assert!(!is_unreadable(&of(code)), "{code}");
        }
    }
}

//! Holds no code: a package needs a library for its tests to belong to.

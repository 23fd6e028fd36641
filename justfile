# What a person types most. `just` alone lists it.

default:
    @just --list

# Judge the reference implementation.
conform *arguments:
    cargo run --release -p herma-harness --bin herma-conform -- {{arguments}}

# All tests.
test:
    cargo test --workspace

# Formatting and lints, as CI has them.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Write the generated pages and snapshots again; look at the difference before committing it.
docs:
    UPDATE_DOCS=1 INSTA_UPDATE=always cargo test -p herma-tests --test workspace

# Every fuzz target for some seconds each (nightly).
fuzz seconds="60":
    .ci/fuzz {{seconds}}

# Break a crate in one small way after the other (`model` or `core`): does a test notice each?
mutants crate:
    .ci/mutants all {{crate}}

# Everything CI runs.
ci:
    .ci/run

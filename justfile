# What a person types most. `just` alone lists it.

default:
    @just --list

# Judge the reference implementation.
conform *arguments:
    cargo run -p herma-harness --bin herma-conform -- {{arguments}}

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

# One fuzz target for some seconds, from a seed (0: a fresh one); `just fuzz TARGET FILE` replays an input.
fuzz target seconds="60" seed="0":
    .ci/fuzz {{target}} {{seconds}} {{seed}}

# Every fuzz target for some minutes each, two at a time.
fuzz-all minutes="1":
    .ci/fuzz all $(({{minutes}} * 60))

# Mutants of the kept inputs of every fuzz target, as in CI.
fuzz-smoke seed="1" percent="100":
    cargo run --example fuzz_smoke -- {{seed}} {{percent}}

# How soon each generator finds each planted bug: docs/generation.md (an hour on two cores).
generators:
    .ci/fuzz build target/fuzz/targets
    cargo run -p herma-harness --example generators -- docs/generation.md \
        --libfuzzer $PWD/target/fuzz/targets/history

# How long each operation takes, beside other tools that are installed; `--page docs/speed.md` writes the page.
bench *arguments:
    cargo build --release -p herma-core --bin herma
    cargo bench -p herma-harness --bench speed -- --herma $PWD/target/release/herma {{arguments}}

# Break a crate in one small way after the other (`model` or `core`): does a test notice each?
mutants crate:
    .ci/mutants all {{crate}}

# Packages of both commands in target/packages, and how long each takes from a fresh environment to its first verdict.
dist:
    dist/build
    dist/try

# Everything CI runs.
ci:
    .ci/run

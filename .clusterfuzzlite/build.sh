#!/usr/bin/env bash
# Builds the fuzz targets into $OUT for ClusterFuzzLite and OSS-Fuzz, each with its seeds and the dictionary.
set -euo pipefail
.ci/fuzz build "$OUT"
for binary in "$OUT"/*; do
    target=$(basename "$binary")
    seeds=$(mktemp -d)
    "$binary" --write-seeds "$seeds"
    cp fuzz/corpus/"$target"/* "$seeds" 2>/dev/null || true
    (cd "$seeds" && zip -q "$OUT/${target}_seed_corpus.zip" ./*)
    cp fuzz/dictionary "$OUT/$target.dict"
    printf '[libfuzzer]\nmax_len = %s\n' "$("$binary" --bytes-max)" > "$OUT/$target.options"
done

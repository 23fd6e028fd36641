#!/bin/bash
# A gate in parts on Slurm: sbatch harness/shards/slurm.sh SUBJECT...; SUBJECT is what follows `herma-conform gate`.
#SBATCH --job-name=herma
#SBATCH --array=1-8
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=herma-%A-%a.log
set -euo pipefail
part=$SLURM_ARRAY_TASK_ID
folder=${HERMA_SHARDS:-herma-shards}
mkdir -p "$folder"
# A task that was killed begins again, as if it had never run.
rm -rf "$folder/$part.keep" "$folder/$part.running"
code=0
herma-conform gate --shard "$part/$SLURM_ARRAY_TASK_COUNT" --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --keep "$folder/$part.keep" --results "$folder/$part.running" "$@" || code=$?
# Only complete results get this name.
mv "$folder/$part.running" "$folder/$part.jsonl"
# 1: a failure that is not expected, which the gate over all parts reports. The others are no verdict.
[ "$code" -le 1 ]

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A file cache inside a Slurm job: sbatch -N 4 slurm-job.sh
#
# Replace what is marked. Slurm must offer PMIx (srun --mpi=list), or use --mpi=pmi2.
#SBATCH --ntasks-per-node=1
set -eu
data=${DATA:-/data}        # <- what to cache: a folder that all nodes share
memory=${MEMORY:-20%}      # <- of each node
run() {                    # <- your program; as many steps as you like
    srun --overlap "$@"
}

# One node of the cache on each node of the allocation. --overlap: it takes no core from the steps.
srun --mpi="${MPI:-pmix}" --ntasks-per-node=1 --overlap --kill-on-bad-exit=0 \
    rhinet cache serve --cache "$memory" --path "$data" &

# Until it is ready here. It is then ready everywhere: nodes wait for each other.
tries=0
until rhinet cache status >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { echo "the cache does not start" >&2; exit 1; }
    sleep 0.1
done

eval "$(rhinet cache env)" # the same variables on every node; srun passes them on
status=0
run "$@" || status=$?      # the first step fills the cache

unset LD_PRELOAD
rhinet cache status
rhinet cache stop          # if the job is cancelled instead, Slurm ends the step
wait
exit "$status"

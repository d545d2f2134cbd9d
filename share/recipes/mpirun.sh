#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A file cache for Open MPI's jobs on these hosts: sh mpirun.sh a,b,c ./program ARGUMENT...
set -eu
hosts=$1
shift
data=${DATA:-/data}   # <- what to cache
memory=${MEMORY:-20%} # <- of each host
set -f
# One node of the cache on each host. Options that your site needs go into MPIRUN_OPTIONS.
# shellcheck disable=SC2086
mpirun ${MPIRUN_OPTIONS:-} --host "$hosts" --map-by ppr:1:node --bind-to none \
    rhinet cache serve --cache "$memory" --path "$data" &
trap 'rhinet cache stop >/dev/null' EXIT INT TERM

tries=0
until rhinet cache status >/dev/null 2>&1; do # this host must be one of them
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { echo "the cache does not start" >&2; exit 1; }
    sleep 0.1
done

# In a shell of its own: mpirun itself need not be preloaded when the cache is stopped.
status=0
# shellcheck disable=SC2086
(eval "$(rhinet cache env)"
 mpirun ${MPIRUN_OPTIONS:-} --host "$hosts" -x LD_PRELOAD -x RHINET_CACHE_SOCKET "$@") || status=$?
rhinet cache stop
wait
exit "$status"

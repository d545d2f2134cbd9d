#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A file cache for every job, without the users' doing. In slurm.conf, with PrologFlags=Alloc:
#
#   Prolog=/etc/slurm/slurm-prolog.sh  Epilog=/etc/slurm/slurm-epilog.sh
#   TaskProlog=/etc/slurm/slurm-taskprolog.sh
#
# The first node of a job starts the cache on all of them, as the job's user, by ssh or what
# RHINET_RSH says. Each job has a cache of its own: two jobs of a user on a node share nothing. A
# job whose cache does not start runs without: this never fails.
. "${CACHE_CONF:-/etc/rhinet/cache.conf}" || exit 0 # PATHS="/data /home", MEMORY=10%
[ -n "$PATHS" ] || exit 0
hosts=$(scontrol show hostnames "${SLURM_JOB_NODELIST:-$SLURM_NODELIST}" | paste -sd, -)
[ "${hosts%%,*}" = "$SLURMD_NODENAME" ] || exit 0
set -- --hosts "$hosts" --name "job-$SLURM_JOB_ID" --cache "${MEMORY:-10%}" \
    --idle "${IDLE:-8h}"
for path in $PATHS; do set -- "$@" --path "$path"; done
setpriv --reuid "$SLURM_JOB_UID" --regid "$(id -g "$SLURM_JOB_UID")" --init-groups \
    rhinet cache start "$@" >/dev/null || echo "rhinet: job $SLURM_JOB_ID has no file cache" >&2
exit 0

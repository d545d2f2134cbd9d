#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The end of what slurm-prolog.sh has started. Runs on every node; the first call ends all of it.
setpriv --reuid "$SLURM_JOB_UID" --regid "$(id -g "$SLURM_JOB_UID")" --init-groups \
    rhinet cache stop --name "job-$SLURM_JOB_ID" >/dev/null 2>&1
exit 0

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What slurm-prolog.sh has started is used by every task: Slurm sets what is printed here. What the
# user preloads stays, behind ours.
eval "$(rhinet cache env --name "job-$SLURM_JOB_ID")"
echo "export RHINET_CACHE_SOCKET=$RHINET_CACHE_SOCKET"
echo "export LD_PRELOAD=$LD_PRELOAD"

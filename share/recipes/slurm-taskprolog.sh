#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What slurm-prolog.sh has started is used by every task: Slurm sets what is printed here.
rhinet cache env --name "job-$SLURM_JOB_ID" |
    sed -n "s/^export \([A-Z_]*\)='\([^']*\)'.*/export \1=\2/p"

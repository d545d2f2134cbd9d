#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# torchrun under a file cache: run this on every node, as a scheduler would, with
#
#   NODE_RANK=0 NNODES=2 NPROC_PER_NODE=4 MASTER_ADDR=first-host MASTER_PORT=29500 \
#       sh torchrun.sh train.py ARGUMENT...
#
# once the cache runs on all of them: rhinet cache start --hosts a,b --path /data
# The workers that torchrun starts, and the DataLoader's, find the cache by the variables that they
# inherit.
set -eu
eval "$(rhinet cache env)"
exec torchrun --nnodes="$NNODES" --node-rank="$NODE_RANK" --nproc-per-node="$NPROC_PER_NODE" \
    --master-addr="$MASTER_ADDR" --master-port="$MASTER_PORT" "$@"

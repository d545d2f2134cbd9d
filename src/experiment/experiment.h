/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Experiments: what is measured, of this machine, in virtual time, or beside a paper. Each is a
 * room and a command of `rhinet bench`; some have an older name elsewhere in the program, too,
 * which is the same command.
 *
 *   machine/    rma, msg, sizes, tail, ofi, dsm, pages, himeno, datagram: against its limits
 *   cache/      cache (`rhinet cache bench`): the file cache, here and on a simulated cluster
 *   routing/    route (`rhinet route paper`): the turn addition paper's evaluation
 *   simulator/  sim (`rhinet sim bench`), engine: the simulator's own speed
 *   thesis/     thesis (`rhinet sim thesis`): the thesis's figures on simulated controllers
 *
 * failure.h, which of a simulated job's failures is the cause, is for all of them.
 *
 * To add one: a folder here, with a command in it (cli/cli.h), that is declared below and stands in
 * the list of experiment.c; its line in tests/tidy/check_layers.py says what it measures. A further
 * case of an experiment is a line in that room's table: machine/LAYER/cases.c, thesis/thesis.c
 * with thesis/rows.c, cache/bench.c, routing/paper.c.
 */
#pragma once

#include "cli/cli.h"

extern const struct cli_command cli_bench_rma, cli_bench_msg, cli_bench_sizes, cli_bench_tail,
    cli_bench_sets, cli_bench_ofi, cli_bench_mpi, cli_bench_dsm, cli_bench_pages, cli_bench_himeno,
    cli_bench_datagram, cli_bench_cache, cli_bench_route, cli_bench_sim, cli_bench_engine,
    cli_bench_thesis;

/* Of `rhinet sim`: what it simulates, and what that does to the thesis's rows. */
extern const struct cli_command cli_sim_platform, cli_sim_sensitivity;

/* How experiments start this program again. */
extern const struct cli_command cli_bench_rank, cli_bench_join, cli_bench_nothing, cli_bench_trial;

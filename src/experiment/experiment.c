/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet bench`: the list of experiments. See experiment.h.
 */
#include "experiment/experiment.h"

static int list(int count, char **words)
{
    if (count > 0)
        return cli_unknown(&cli_bench, words[0]);
    cli_help_print(stdout, &cli_bench, cli_path());
    return 0;
}

const struct cli_command cli_bench = {
    .name = "bench",
    .help = "measure: against the machine's own limits, in virtual time, beside papers",
    .operands = "[EXPERIMENT [ARGUMENT...]]",
    .commands =
        (const struct cli_command *const[]){
            &cli_bench_rma,     &cli_bench_msg,      &cli_bench_sizes,
            &cli_bench_sets,    &cli_bench_tail,     &cli_bench_ofi,
            &cli_bench_mpi,     &cli_bench_dsm,      &cli_bench_pages,
            &cli_bench_himeno,  &cli_bench_datagram, &cli_bench_cache,
            &cli_bench_route,   &cli_bench_sim,      &cli_bench_engine,
            &cli_bench_thesis,  &cli_bench_rank,     &cli_bench_join,
            &cli_bench_nothing, &cli_bench_trial,    NULL},
    .stops = true,
    .run = list};

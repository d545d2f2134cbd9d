/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program: its subcommands, and what it does without one. A new subcommand is a file, a line
 * here, a man page.
 */
#include "cli/cli.h"
#include "cli/incomplete.h"
#include "job/manager/manager_process_run.h"

#include <jansson.h>
#include <stdlib.h>

static bool wants_version;
static const struct cli_option options[] = {
    CLI_FLAG("version", &wants_version, "print the version", .letter = 'V'), CLI_OPTIONS_END};

static int run(int count, char **words)
{
    if (wants_version) {
        printf("rhinet %s\n", RHINET_VERSION);
        return 0;
    }
    if (count > 0)
        return cli_unknown(&cli_root, words[0]);
    cli_help_print(stderr, &cli_root, "rhinet");
    return 2;
}

const struct cli_command cli_root = {
    .name = "rhinet",
    .help = "remote memory for clusters: start jobs, watch them, measure them",
    .operands = "[SUBCOMMAND [ARGUMENT...]]",
    .options = options,
    .commands = (const struct cli_command *const[]){&cli_run, &cli_mpirun, &cli_node, &cli_top,
                                                    &cli_doctor, &cli_info, &cli_bench, &cli_dsm,
                                                    &cli_route, &cli_sim, &cli_cache, &cli_report,
                                                    &cli_demo, &cli_completion, &cli_help, NULL},
    .stops = true,
    .run = run};

static void *json_memory(size_t length)
{
    void *memory = malloc(length);
    if (!memory)
        incomplete_note();
    return memory;
}

int main(int argc, char **argv)
{
    manager_process_bring(&rh_manager_process_body); /* it is in this program: nothing to load */
    json_set_alloc_funcs(json_memory, free);
    int status = incomplete_status(cli_call(argc, argv));
    /* A full disk or a closed pipe must not look like success to a script. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "rhinet: cannot write to standard output\n");
        return status ? status : 1;
    }
    return status;
}

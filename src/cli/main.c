/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of subcommands and the dispatch. A new subcommand is a file, a line here, a man page.
 */
#include "cli/cli.h"
#include "cli/incomplete.h"
#include "job/manager/steward_run.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const struct cli_command cli_commands[] = {
    {.name = "run", .run = cli_run,
     .help = "start a job of N processes, on this machine or on several hosts",
     .usage = "-n N [OPTION...] PROGRAM [ARGUMENT...]",
     .options =
        "  -n, --ranks N          number of processes\n"
        "      --nic NAME         NIC to use: shm, fault(shm)\n"
        "      --timeout S        end the job after S seconds\n"
        "      --bind WHAT        core: pin each process to one; none; auto: if there are enough\n"
        "      --label            put the rank before each line of output\n"
        "      --survive          the death of a rank ends only that rank\n"
        "      --env NAME=VALUE   set a variable for the processes\n"
        "      --hosts A,B:4      run on these hosts, four processes on the second\n"
        "      --hostfile FILE    the same, from a file with a host on each line\n"
        "      --map block|cyclic fill one host after the other, or go round them\n"
        "      --rsh CMD          reach a host by CMD HOST PROGRAM ARGUMENT...\n"
        "      --remote-rhinet F  this program on the other hosts\n"
        "      --export A,B       variables to take to the other hosts, besides RHINET_*\n"},
    {.name = "node", .run = cli_node,
     .help = "be the launcher of another host; `rhinet run --hosts` calls it",
     .usage = "",
     .options = NULL},
    {.name = "top", .run = cli_top,
     .help = "watch the processes of a running job",
     .usage = "[JOB] [OPTION...]",
     .options =
        "      --once             print one table and end\n"
        "      --json             print one JSON object per sample\n"
        "      --interval S       time between samples, 1s unless given\n"},
    {.name = "doctor", .run = cli_doctor,
     .help = "say who waits for whom in a running job, and whether it is stuck",
     .usage = "[JOB] [OPTION...]",
     .options =
        "      --json             print JSON instead of text\n"
        "      --watch S          look again every S seconds\n"
        "      --after S          a wait counts as stuck after S seconds, 10s unless given\n"},
    {.name = "info", .run = cli_info,
     .help = "show this machine, the NICs, the settings, or a running job",
     .usage = "[JOB] [OPTION...]",
     .options =
        "      --settings         every RHINET_ variable: value, origin, meaning\n"
        "      --counters         every counter and its meaning\n"
        "      --json             print JSON instead of text\n"},
    {.name = "bench", .run = cli_bench,
     .help = "measure remote memory, messages and the network against the machine's own limits",
     .usage = "rma|msg|ofi|dsm|pages|himeno|datagram [OPTION...]",
     .options =
        "      --quick            fewer rounds\n"
        "      --rounds N         how many rounds\n"
        "      --only NAME,...    only these measurements\n"
        "      --peers            msg: beside Open MPI, MPICH and UCX\n"
        "      --nic NAME         dsm: by this NIC: shm, ofi or mixed\n"
        "      --json FILE        one JSON object per line to FILE, - for stdout\n"},
    {.name = "dsm", .run = cli_dsm,
     .help = "measure distributed shared memory",
     .usage = "bench [pages|himeno|datagram] [OPTION...]",
     .options =
        "bench                    the same as `rhinet bench dsm`, with its options\n"
        "bench pages              the same for page mode: faults, fetches, locks\n"
        "bench himeno             Himeno benchmark: entry mode, page mode, messages\n"
        "bench datagram           remote memory against datagrams, over the network\n"},
    {.name = "route", .run = cli_route,
     .help = "compute, check and repair deadlock-free routing tables",
     .usage = "generate|compute|check|compare|repair|paper [ARGUMENT...]",
     .options =
        "generate KIND            make a fabric; without KIND it lists them\n"
        "      --ports N          ports of a switch, or cables of one in random networks\n"
        "      --levels N         levels of a fat tree\n"
        "      --over N           hosts for each cable up\n"
        "      --join PLACE       joined trees: top, middle or bottom\n"
        "      --switches N       switches of a random network or a ring\n"
        "      --hosts N          hosts of each switch\n"
        "      --size AxBxC       extent of a mesh or torus\n"
        "      --dimensions N     of a hypercube\n"
        "      --routers N        of a dragonfly's group\n"
        "      --global N         links of each router to other groups\n"
        "      --prime Q          a slim fly's prime power\n"
        "      --seed N           of a random network\n"
        "      --format NAME      ibnetdiscover, edges or dot\n"
        "  -o, --output FILE      where to write, - for stdout\n"
        "compute FABRIC           tables for a fabric\n"
        "  -a, --algorithm NAME   turn-addition unless given; compare lists them\n"
        "      --traffic MODEL    auto, uniform, groups[:WEIGHT], matrix:FILE, counters:FILE\n"
        "      --groups CHAR      names begin with their group and this character\n"
        "      --roots A,B        roots for up-down\n"
        "      --lft FILE         tables for opensm -R file -U FILE\n"
        "      --guid2lid FILE    LIDs for OpenSM\n"
        "      --paths FILE       one path for each pair\n"
        "      --dot FILE         picture for Graphviz\n"
        "      --json FILE        the report as JSON, - for stdout\n"
        "      --threads N        threads to use\n"
        "      --lane-limit N     virtual channels that there are; more fail the check\n"
        "      --no-check         do not prove the result\n"
        "check FABRIC LFT         is anybody's table complete and free of deadlock?\n"
        "                         --json, --lane-limit as above\n"
        "      --paths FILE       check paths for each pair instead of a table\n"
        "      --lanes RULE       one, hop or branch\n"
        "compare FABRIC           all algorithms in one table\n"
        "repair OLD LFT NEW       mend a table after failures; --lft, --json, --no-check as above\n"
        "      --full             compare with a new computation\n"
        "paper [PART]             the paper's evaluation: fig-20 fig-21 fig-24 table-2\n"
        "      --networks N       random networks of each size\n"},
    {.name = "sim", .run = cli_sim,
     .help = "simulate RHiNET switches and the Martini controller",
     .usage = "run|thesis|constants|bench [OPTION...]",
     .options =
        "run                      traffic on a network, at several loads\n"
        "      --topology FILE    the fabric, as `rhinet route` reads it\n"
        "      --routing FILE     tables of `rhinet route`, or the name of an algorithm\n"
        "      --paths FILE       source routing by the paths of `rhinet route compute --paths`\n"
        "      --lanes RULE       of tables from a file: one, hop or branch\n"
        "      --traffic KIND     uniform, hotspot, all-to-all or trace\n"
        "      --trace FILE       lines of NANOSECONDS SOURCE TARGET BYTES\n"
        "      --load LIST        A,B,C or FROM:TO:STEP; 1 is all that a host's link carries\n"
        "      --size BYTES       of a message\n"
        "      --hot HOST         hotspot: where much of the traffic goes\n"
        "      --hot-share PART   hotspot: how much of it, 0.1 unless given\n"
        "      --network NAME     rhinet2 or rhinet3\n"
        "      --length METRES    of the links\n"
        "      --links FILE       lines of NODE PORT MBPS METRES for single links\n"
        "      --error-rate RATE  wrong bits on links\n"
        "      --set NAME=VALUE   change a constant\n"
        "      --seed N           of all chance; the same seed gives the same run\n"
        "      --warm T           virtual time before the measurement\n"
        "      --time T           virtual time of the measurement\n"
        "      --json FILE        the report as JSON, - for stdout\n"
        "      --plot FILE        latency against load, as SVG\n"
        "      --loads N          show the N busiest links\n"
        "      --log FILE         every event, one a line\n"
        "thesis [PART]            the thesis's figures: all, table-6.2, fig-6.1, P3, ...\n"
        "      --timeline FILE    what each module did when, for Perfetto\n"
        "      --packets FILE     each packet of it, a line each\n"
        "      --pcap FILE        the same for Wireshark and tcpdump\n"
        "      --double-buffer    what if: RFend works while a payload drains\n"
        "      --windows N        what if: streams use N windows in turn\n"
        "      --hardware-vpush   what if: VPUSH in hardware\n"
        "      --cpu-speed X      what if: the on-chip CPU is X times as fast\n"
        "      --clock MHZ        what if: another core clock\n"
        "      --pci-x            what if: a bus of 133 MHz\n"
        "      --link MBPS        what if: other links\n"
        "      --mtu BYTES        what if: other packets\n"
        "constants                what the simulated hardware is made of, and who says so\n"
        "bench                    the simulator's own speed\n"
        "      --ports N          of the switches of its fat tree: N^3/4 hosts; 16\n"},
    {.name = "cache", .run = cli_cache,
     .help = "read a slow shared file system once for all nodes",
     .usage = "run|stat|warm|mount|bench [OPTION...]",
     .options =
        "run -n N PROGRAM...      run a program on each node, with one cache for all; options of\n"
        "                         `rhinet run`, and:\n"
        "      --cache SIZE       memory for it on each node\n"
        "      --path FOLDER      what to cache; several are possible\n"
        "      --block SIZE       length of a block, 1M unless given\n"
        "      --groups N         groups of nodes\n"
        "      --singlets PART    kept for blocks that no other node has: 0 to 0.99, or auto\n"
        "      --checksum         check blocks that come from other nodes\n"
        "stat                     what the caches of this host hold and have done\n"
        "      --json             one JSON object for each node\n"
        "      --files N          show the N files that were read most, 10 unless given\n"
        "      --job JOB          only that job's, by its number; also for warm\n"
        "warm PATH...             bring files into the cache, each node its share\n"
        "      --all              everything into each node\n"
        "mount FOLDER PLACE       show a folder again, cached, for static programs; then, after\n"
        "                         --, run a program\n"
        "  -r, --read-only        refuse changes\n"
        "bench [EXPERIMENT...]    speed, sequential, singlets, random, stride, overhead; all\n"
        "                         unless given\n"
        "      --quick            less data\n"
        "      --nodes N          nodes of the experiments, 4 unless given\n"
        "      --simulate         on the simulated network, in virtual time; --nodes is a list\n"
        "      --seed N           of what chance decides there, 1 unless given\n"
        "      --pretend SPEED    bytes per second of a pretended file system, 100M unless given\n"
        "      --path FOLDER      measure the file system that this is on instead\n"
        "      --run WORDS        further arguments of `rhinet run`, such as --hosts A,B\n"
        "      --json FILE        one JSON object for each trial, - for stdout\n"
        "      --plot FOLDER      pictures of the experiments\n"},
    {.name = "completion", .run = cli_completion,
     .help = "print shell completion",
     .usage = "bash|zsh|fish",
     .options = NULL},
    {.name = "help", .run = cli_help,
     .help = "explain a subcommand",
     .usage = "[SUBCOMMAND]",
     .options = NULL},
    {.name = NULL},
};
/* clang-format on */

const struct cli_command *cli_find(const char *name)
{
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}

static bool is_help_option(const char *text)
{
    return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        cli_help_all(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("rhinet %s\n", RHINET_VERSION);
        return 0;
    }
    if (is_help_option(argv[1]))
        return cli_help(argc - 1, argv + 1);
    const struct cli_command *command = cli_find(argv[1]);
    if (!command)
        return cli_unknown(argv[1]);
    /* Only in the first place: in `rhinet run -n 2 prog --help` the option is the program's. */
    if (argc > 2 && is_help_option(argv[2])) {
        cli_help_one(stdout, command);
        return 0;
    }
    return command->run(argc - 1, argv + 1);
}

static void *json_memory(size_t length)
{
    void *memory = malloc(length);
    if (!memory)
        incomplete_note();
    return memory;
}

int main(int argc, char **argv)
{
    steward_bring(&rh_steward_body); /* it is in this program: nothing to load */
    json_set_alloc_funcs(json_memory, free);
    int status = incomplete_status(dispatch(argc, argv));
    /* A full disk or a closed pipe must not look like success to a script. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "rhinet: cannot write to standard output\n");
        return status ? status : 1;
    }
    return status;
}

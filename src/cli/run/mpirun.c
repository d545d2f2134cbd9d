/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet mpirun`: Open MPI's mpirun, told to use the libfabric provider. It sets variables, makes
 * sure that this MPI can be told so, and is replaced by mpirun.
 */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "cli/run/simulation.h"
#include "cli/sim/sim.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROVIDER   "librhinet-fi.so"
#define WORDS_MORE 24 /* that we put before the program's */
#define NODES_MAX  1024

static struct {
    const char *mpirun;
    const char *ranks;
} wishes;

static const struct cli_option options[] = {
    CLI_TEXT("ranks", "N", &wishes.ranks, "number of processes, as mpirun counts unless given",
             .letter = 'n', .habit = "np"),
    CLI_CALL("nic", "NAME", run_nic_take, "NIC to use, such as shm or mixed",
             .suggest = run_nic_name, .allowed = "a NIC: see `rhinet info`"),
    CLI_CALL("platform", "NAME", run_platform_take,
             "NIC martini: which machine is simulated, as `rhinet sim platform list` has it",
             .suggest = sim_platform_name, .takes_file = true,
             .allowed = "a platform or file, or FIRST-LAST:NAME for some nodes"),
    CLI_FILE("mpirun", "PROGRAM", &wishes.mpirun,
             "mpirun to use; mpirun.openmpi or mpirun in PATH unless given"),
    CLI_OPTIONS_END};

/* ---- The provider --------------------------------------------------------------------------- */

bool run_provider_find(char *folder, size_t room)
{
    static const struct simulation_places places = {PROVIDER, "src/provider",
                                                    "../" RHINET_LIBDIR "/libfabric"};
    return simulation_library_find(&places, folder, room);
}

/* ---- The MPI -------------------------------------------------------------------------------- */

/* Whether a command's output has this text; it is not run by a shell that anybody could fool, since
 * the program's name goes by a variable. */
static bool says(const char *program, const char *command, const char *text)
{
    char line[4096];
    bool is_found = false;
    if (setenv("RHINET_ASKED", program, 1) != 0)
        return false;
    FILE *out = popen(command, "r");
    while (out && fgets(line, sizeof(line), out))
        is_found |= strstr(line, text) != NULL;
    if (out)
        pclose(out);
    unsetenv("RHINET_ASKED");
    return is_found;
}

static int check_mpi(const char *mpirun)
{
    if (!says(mpirun, "\"$RHINET_ASKED\" --version 2>&1", "open-mpi.org")) {
        cli_say(
            "%s is not Open MPI's mpirun, or cannot be run; name one by --mpirun. Debian's MPICH "
            "cannot use libfabric: it is built for UCX alone",
            mpirun);
        return 1;
    }
    if (says(mpirun, "command -v ompi_info 2>&1", "ompi_info") &&
        !says(mpirun, "ompi_info --parsable 2>&1", "mca:mtl:ofi:")) {
        cli_say("this Open MPI has no component mtl:ofi (`ompi_info | grep ofi`): it was built "
                "without libfabric; install one with it, such as Debian's openmpi-bin");
        return 1;
    }
    return 0;
}

static int set_variables(const char *folder)
{
    static const char *const settings[][2] = {
        {"OMPI_MCA_pml", "cm"},
        {"OMPI_MCA_mtl", "ofi"},
        {"OMPI_MCA_opal_common_ofi_provider_include", "rhinet"},
        {"OMPI_MCA_osc", "pt2pt"}, /* one-sided by messages, too */
        {"OMPI_MCA_btl", "self"},
    };
    int result = run_variable_set("FI_PROVIDER_PATH", folder);
    for (size_t i = 0; result == 0 && i < sizeof(settings) / sizeof(settings[0]); i++)
        result = run_variable_set(settings[i][0], settings[i][1]);
    return result;
}

/* ---- The command ---------------------------------------------------------------------------- */

/* Words of mpirun before the user's. */
struct words {
    const char **all;
    size_t count;
};

static void add(struct words *words, const char *first, const char *second)
{
    words->all[words->count++] = first;
    if (second)
        words->all[words->count++] = second;
}

/* Other hosts get OMPI_MCA_... by themselves, the rest because they are named. */
static void add_export(struct words *words, const char *name)
{
    if (getenv(name))
        add(words, "-x", name);
}

/* The ranks of a simulated cluster wait for each other more than they run, all on this host. */
static int add_simulated(struct words *words, const char *preload, uint64_t *size)
{
    static char assignment[PATH_MAX * 3];
    if (!wishes.ranks || !text_to_u64(wishes.ranks, size) || *size < 1 || *size > NODES_MAX)
        return cli_usage_error("how many nodes are to be simulated? Give -n N, from 1 to %d",
                               NODES_MAX);
    add(words, "--oversubscribe", NULL);
    add(words, "--bind-to", "none");
    snprintf(assignment, sizeof(assignment), "LD_PRELOAD=%s", preload);
    if (preload[0]) /* for the ranks, not for mpirun */
        add(words, "-x", assignment);
    return 0;
}

static int run(int count, char **users)
{
    char folder[PATH_MAX + 64], preload[PATH_MAX * 2];
    const char *nic = getenv("RHINET_NIC");
    bool is_martini = nic && strcmp(nic, "martini") == 0;
    if (!run_provider_find(folder, sizeof(folder))) {
        cli_say("there is no " PROVIDER " where this program is installed");
        return 1;
    }
    const char *mpirun = wishes.mpirun;
    if (!mpirun)
        mpirun = says("", "command -v mpirun.openmpi", "mpirun") ? "mpirun.openmpi" : "mpirun";
    int result = check_mpi(mpirun);
    if (result == 0)
        result = simulation_prepare(is_martini, true, preload, sizeof(preload));
    if (result == 0)
        result = set_variables(folder);
    if (result != 0)
        return result;
    struct words words = {calloc((size_t)count + WORDS_MORE, sizeof(*words.all)), 0};
    if (!words.all)
        return cli_fail();
    add(&words, mpirun, NULL);
    if (wishes.ranks)
        add(&words, "-n", wishes.ranks);
    add_export(&words, "FI_PROVIDER_PATH");
    add_export(&words, "RHINET_NIC");
    uint64_t size = 0;
    if (is_martini)
        result = add_simulated(&words, preload, &size);
    memcpy(&words.all[words.count], users, (size_t)count * sizeof(*users));
    char *const *all = (char *const *)(uintptr_t)words.all;
    if (result == 0 && is_martini) {
        result = simulation_run((int)size, all);
    } else if (result == 0) {
        execvp(mpirun, all);
        cli_say("cannot run %s: %s", mpirun, strerror(errno));
        result = 1;
    }
    free(words.all);
    return result;
}

const struct cli_command cli_mpirun = {
    .name = "mpirun",
    .help = "start an MPI program on rhinet, by Open MPI's mpirun",
    .operands = "PROGRAM [ARGUMENT...]",
    .options = options,
    .shared = simulation_options,
    .takes_files = true,
    .stops = true,
    .run = run};

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `rhinet mpirun`: Open MPI's mpirun, told to use the libfabric provider. It sets variables, makes
 * sure that this MPI can be told so, and is replaced by mpirun.
 */
#include "cli/cli.h"
#include "cli/run/run.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROVIDER   "librhinet-fi.so"
#define WORDS_MORE 16 /* that we put before the program's */

static struct {
    const char *mpirun;
    const char *ranks;
} wishes;

static const struct cli_option options[] = {
    CLI_TEXT("ranks", "N", &wishes.ranks, "number of processes, as mpirun counts unless given",
             .letter = 'n', .habit = "np"),
    CLI_CALL("nic", "NAME", run_nic_take, "NIC to use, such as shm or mixed",
             .suggest = run_nic_name, .allowed = "a NIC: see `rhinet info`"),
    CLI_FILE("mpirun", "PROGRAM", &wishes.mpirun,
             "mpirun to use; mpirun.openmpi or mpirun in PATH unless given"),
    CLI_OPTIONS_END};

/* ---- The provider --------------------------------------------------------------------------- */

bool run_provider_find(char *folder, size_t room)
{
    static const char *const places[] = {"src/provider", "../" RHINET_LIBDIR "/libfabric"};
    char program[PATH_MAX], path[PATH_MAX * 2];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(folder, room, "%s/%s", program, places[i]);
        snprintf(path, sizeof(path), "%s/" PROVIDER, folder);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
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

static int run(int count, char **words)
{
    char folder[PATH_MAX + 64];
    if (!run_provider_find(folder, sizeof(folder))) {
        cli_say("there is no " PROVIDER " where this program is installed");
        return 1;
    }
    const char *mpirun = wishes.mpirun;
    if (!mpirun)
        mpirun = says("", "command -v mpirun.openmpi", "mpirun") ? "mpirun.openmpi" : "mpirun";
    int result = check_mpi(mpirun);
    if (result == 0)
        result = set_variables(folder);
    if (result != 0)
        return result;
    const char **all = calloc((size_t)count + WORDS_MORE, sizeof(*all));
    if (!all)
        return cli_fail();
    size_t at = 0;
    all[at++] = mpirun;
    if (wishes.ranks) {
        all[at++] = "-n";
        all[at++] = wishes.ranks;
    }
    /* Other hosts get OMPI_MCA_... by themselves, the rest because they are named. */
    all[at++] = "-x";
    all[at++] = "FI_PROVIDER_PATH";
    if (getenv("RHINET_NIC")) {
        all[at++] = "-x";
        all[at++] = "RHINET_NIC";
    }
    memcpy(&all[at], words, (size_t)count * sizeof(*all));
    execvp(mpirun, (char *const *)(uintptr_t)all);
    cli_say("cannot run %s: %s", mpirun, strerror(errno));
    free(all);
    return 1;
}

const struct cli_command cli_mpirun = {
    .name = "mpirun",
    .help = "start an MPI program on rhinet, by Open MPI's mpirun",
    .operands = "PROGRAM [ARGUMENT...]",
    .options = options,
    .takes_files = true,
    .stops = true,
    .run = run};

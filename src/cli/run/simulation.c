/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See simulation.h. The simulation beside mpirun is a child of ours, as mpirun is: it dies with us,
 * and mpirun is told to end when we are killed.
 */
#include "cli/run/simulation.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "simulated/door.h"
#include "simulated/world.h"
#include "virtual/virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_NS (5 * NS_PER_S) /* for the simulation to finish when mpirun has */

static struct {
    const char *compute; /* NULL: unsaid */
    int clock;
} wishes;

/* ---- Options --------------------------------------------------------------------------------- */

static int compute_take(char *text)
{
    struct compute_model model;
    if (compute_model_read(&model, text) < 0 || run_martini_add("compute", text) < 0)
        return -1;
    wishes.compute = text;
    return 0;
}

static int trace_take(char *text)
{
    return run_martini_add("trace", text);
}

static int pcap_take(char *text)
{
    return run_martini_add("pcap", text);
}

static int packets_take(char *text)
{
    return run_martini_add("packets", text);
}

static int limit_take(char *text)
{
    uint64_t bytes;
    return text_to_size(text, &bytes) && bytes >= 4096 ? run_martini_add("trace_limit", text) : -1;
}

static int usage_take(char *text)
{
    return run_martini_add("usage", text);
}

static const char *const clocks[] = {"auto", "virtual", "machine", NULL};
enum clock { CLOCK_AUTO, CLOCK_VIRTUAL, CLOCK_MACHINE };

const struct cli_option simulation_options[] = {
    CLI_CALL("compute", "MODEL", compute_take,
             "NIC martini: virtual time that computing takes: none, measured, scaled:F, "
             "record:FILE or replay:FILE",
             .allowed = "none, measured, scaled:F, record:FILE or replay:FILE, without a comma"),
    CLI_CHOICE("clock", NULL, clocks, &wishes.clock,
               "NIC martini: clocks and sleeps of the processes; auto: virtual with --compute"),
    CLI_CALL("trace", "FILE", trace_take, "NIC martini: what each module did when, for Perfetto",
             .takes_file = true, .allowed = "a file without commas in its name"),
    CLI_CALL("pcap", "FILE", pcap_take, "NIC martini: all packets, for Wireshark",
             .takes_file = true, .allowed = "a file without commas in its name"),
    CLI_CALL("packets", "FILE", packets_take, "NIC martini: all packets, a line each",
             .takes_file = true, .allowed = "a file without commas in its name"),
    CLI_CALL("trace-limit", "SIZE", limit_take,
             "NIC martini: where these files end, 64M unless given",
             .allowed = "a size of at least 4K"),
    CLI_CALL("usage", "FILE", usage_take,
             "NIC martini: where the time went, as JSON; - prints it for people",
             .takes_file = true, .allowed = "a file without commas in its name"),
    CLI_OPTIONS_END,
};

bool simulation_library_find(const struct simulation_places *places, char *folder, size_t room)
{
    const char *const below[] = {places->built, places->installed};
    char program[PATH_MAX], path[PATH_MAX * 2];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(folder, room, "%s/%s", program, below[i]);
        snprintf(path, sizeof(path), "%s/%s", folder, places->name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

int simulation_prepare(bool is_martini, bool is_mpi, char *preload, size_t room)
{
    static const struct simulation_places places = {"librhinet_virtual.so", "src/virtual",
                                                    "../" RHINET_LIBDIR "/rhinet"};
    char folder[PATH_MAX + 64];
    preload[0] = '\0';
    if (!is_martini && wishes.clock != CLOCK_AUTO)
        return cli_usage_error("--clock is for --nic martini");
    if (!is_martini)
        return run_martini_check(false);
    bool is_virtual = wishes.clock == CLOCK_AUTO ? is_mpi || wishes.compute
                                                 : wishes.clock == CLOCK_VIRTUAL;
    if (is_mpi && !is_virtual)
        return cli_usage_error(
            "MPI programs need virtual clocks on NIC martini: they start and end "
            "outside of virtual time");
    if (!is_virtual && wishes.compute)
        return cli_usage_error("--compute needs the processes' clocks to be virtual");
    if (!is_virtual)
        return 0;
    bool is_metered = wishes.compute && strcmp(wishes.compute, "none") != 0 &&
                      strncmp(wishes.compute, "replay:", strlen("replay:")) != 0;
    int result = run_variable_set(VIRTUAL_VARIABLE, is_metered ? VIRTUAL_METER : "clock");
    if (result == 0 && !simulation_library_find(&places, folder, sizeof(folder))) {
        cli_say("there is no %s where this program is installed", places.name);
        result = 1;
    }
    const char *others = getenv("LD_PRELOAD");
    snprintf(preload, room, "%s/%s%s%s", folder, places.name, others && others[0] ? ":" : "",
             others ? others : "");
    return result;
}

/* ---- Beside mpirun --------------------------------------------------------------------------- */

struct beside {
    int size, door, parent;
    int life[2]; /* we hold one end, the simulation sees when it is closed */
    int server, mpirun;
    void *state;
};

static _Noreturn void serve(const struct beside *beside)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(beside->life[1]);
    int *fds = calloc((size_t)beside->size, sizeof(*fds));
    if (getppid() != beside->parent || !fds)
        _exit(1);
    int result = martini_door_take(beside->door, beside->life[0], fds, (uint32_t)beside->size);
    if (result == 0)
        result = martini_server.serve(beside->state, fds);
    else if (result != RH_EAGAIN)
        cli_fail();
    _exit(result < 0 && result != RH_EAGAIN ? 1 : 0);
}

static _Noreturn void become_mpirun(const struct beside *beside, char *const *words,
                                    const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (getppid() == beside->parent)
        execvp(words[0], words);
    cli_say("cannot run %s: %s", words[0], strerror(errno));
    _exit(127);
}

/* Signals that somebody sends us are for mpirun; those of a terminal it has got itself. */
static int wait_for_mpirun(const struct beside *beside, const sigset_t *signals)
{
    for (;;) {
        siginfo_t info;
        int status;
        if (waitpid(beside->mpirun, &status, WNOHANG) == beside->mpirun)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        int number = sigwaitinfo(signals, &info);
        if (number > 0 && number != SIGCHLD && info.si_code <= 0)
            kill(beside->mpirun, number);
    }
}

/* Its exit status. */
static int server_end(const struct beside *beside)
{
    int end = 0;
    int64_t deadline_ns = clock_deadline_ns(END_NS);
    close(beside->life[1]);
    while (waitpid(beside->server, &end, WNOHANG) == 0) {
        if (clock_now_ns() >= deadline_ns)
            kill(beside->server, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return WIFEXITED(end) ? WEXITSTATUS(end) : 0;
}

static int server_start(struct beside *beside)
{
    struct settings settings;
    char name[MARTINI_DOOR_NAME];
    struct launch_options options = {.size = beside->size, .settings = &settings};
    if (run_martini_apply() != 0)
        return 1;
    if (settings_load(&settings, environ) < 0 ||
        martini_server.prepare(&beside->state, &options) < 0)
        return cli_fail();
    beside->door = martini_door_open(name);
    if (beside->door < 0 || pipe2(beside->life, O_CLOEXEC) < 0)
        return cli_fail();
    int result = run_variable_set("RHINET_MARTINI_DOOR", name);
    beside->server = result == 0 ? fork() : -1;
    if (beside->server == 0)
        serve(beside);
    close(beside->door);
    close(beside->life[0]);
    martini_server.release(beside->state);
    if (beside->server < 0 && result == 0)
        cli_say("cannot start the simulation: %s", strerror(errno));
    return beside->server < 0 ? 1 : 0;
}

int simulation_run(int size, char *const *words)
{
    struct beside beside = {.size = size, .parent = getpid()};
    sigset_t signals, before;
    int result = server_start(&beside);
    if (result != 0)
        return result;
    sigemptyset(&signals);
    const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        sigaddset(&signals, taken[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    beside.mpirun = fork();
    if (beside.mpirun == 0)
        become_mpirun(&beside, words, &before);
    if (beside.mpirun < 0)
        cli_say("cannot run %s: %s", words[0], strerror(errno));
    result = beside.mpirun < 0 ? 1 : wait_for_mpirun(&beside, &signals);
    int served = server_end(&beside);
    return result ? result : served;
}

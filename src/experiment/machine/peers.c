/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The peers: MPI jobs that are there during a job of ours, asleep until rank 0 asks them for the
 * same case, and ucx_perftest (peers_ucx.c). So each round has everybody's figure from the same
 * moment. The MPI program is compiled when it is needed; what is not installed is named.
 */
#include "base/clock.h"
#include "experiment/machine/bench.h"
#include "experiment/machine/peers/follow.h"
#include "experiment/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define START_NS     (60 * NS_PER_S)
#define ANSWER_NS    (120 * NS_PER_S)
#define END_NS       (5 * NS_PER_S)
#define LOOK_US      2000
#define SHARE        4 /* of a case's time that one peer may take */
#define ARGUMENT_MAX 16
#define MPI_COUNT    4
#define THIS_PROGRAM "rhinet"
#define INSTALL_HINT "`tools/setup peers` installs it"

struct mpi {
    const char *compiler;
    const char *more;                  /* a second source of its program, or NULL */
    const char *starter[ARGUMENT_MAX]; /* without the number of ranks and the program */
    int rank_max;                      /* of a job on two cores that still ends */
    bool is_of_layer_mpi;              /* else of all that have peers */
    char program[PATH_MAX];            /* "": it is not there */
    pid_t pid;
    struct follow_sheet *sheet;
};

/* MPICH's ranks do not yield: with more of them than cores a barrier takes tens of milliseconds. */
static struct mpi mpis[MPI_COUNT] = {
    [BENCH_OPEN_MPI] = {.compiler = "mpicc.openmpi",
                        .starter = {"mpirun.openmpi", "--oversubscribe", "--bind-to", "none"},
                        .rank_max = INT_MAX},
    [BENCH_MPICH] = {.compiler = "mpicc.mpich", .starter = {"mpirun.mpich"}, .rank_max = 8},
    [BENCH_OPEN_MPI_SHM] = {.compiler = "mpicc.openmpi",
                            .more = "strip_hints.c",
                            .starter = {"env", "OMPI_MCA_pml=cm", "OMPI_MCA_mtl=ofi",
                                        "OMPI_MCA_opal_common_ofi_provider_include=shm",
                                        "OMPI_MCA_osc=pt2pt", "OMPI_MCA_btl=self", "mpirun.openmpi",
                                        "--oversubscribe", "--bind-to", "none"},
                            .rank_max = INT_MAX,
                            .is_of_layer_mpi = true},
    [BENCH_PROVIDER] = {.compiler = "mpicc.openmpi",
                        .starter = {THIS_PROGRAM, "mpirun", "--", "--oversubscribe", "--bind-to",
                                    "none"},
                        .rank_max = INT_MAX,
                        .is_of_layer_mpi = true},
};
_Static_assert(BENCH_UCX == MPI_COUNT, "the MPI jobs are the first of all peers");

static struct scratch work;

const char *bench_peer_name(enum bench_peer peer)
{
    static const char *const names[BENCH_PEER_COUNT] = {"Open MPI", "MPICH", "Open MPI on shm",
                                                        "Open MPI on rhinet", "UCX"};
    return names[peer];
}

/* ---- Processes ------------------------------------------------------------------------------ */

/* Its words go to a file in the work folder. Ends when we do. */
static pid_t start(const char *const *argv, const char *log_path)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0 || getppid() != parent)
        _exit(127);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(errno == ENOENT ? 127 : 126);
}

static int await_end(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void print_log(const char *path)
{
    char line[256];
    FILE *log = fopen(path, "re");
    for (int i = 0; log && i < 20 && fgets(line, sizeof(line), log); i++)
        fprintf(stderr, "    %s", line);
    if (log)
        fclose(log);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* Beside the program: in the source tree, or installed. */
static int find_source(const char *name, char source[PATH_MAX])
{
    static const char *const places[] = {"../src/experiment/machine/peers",
                                         "../share/rhinet/bench"};
    char folder[PATH_MAX];
    const char *program = bench_program();
    snprintf(folder, sizeof(folder), "%s", program ? program : "");
    const char *at = dirname(folder);
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(source, PATH_MAX, "%s/%s/%s", at, places[i], name) < PATH_MAX &&
            access(source, R_OK) == 0)
            return 0;
    }
    fprintf(stderr, "rhinet bench: --peers: %s is not where it should be, %s\n", name, source);
    return -1;
}

static void build(enum bench_peer peer)
{
    struct mpi *mpi = &mpis[peer];
    char program[SCRATCH_PATH_MAX + 16], log[SCRATCH_PATH_MAX + 16], source[PATH_MAX],
        more[PATH_MAX];
    if (find_source("mpi_peer.c", source) < 0 || (mpi->more && find_source(mpi->more, more) < 0))
        return;
    snprintf(program, sizeof(program), "%s/mpi-%d", work.folder, peer);
    snprintf(log, sizeof(log), "%s/log-%d", work.folder, peer);
    const char *argv[] = {mpi->compiler, "-O2",       "-D_GNU_SOURCE",         source, "-o",
                          program,       "-rdynamic", mpi->more ? more : NULL, NULL};
    int status = await_end(start(argv, log));
    if (status == 0) {
        snprintf(mpi->program, sizeof(mpi->program), "%s", program);
        return;
    }
    if (status == 127) {
        fprintf(stderr, "rhinet bench: %s is not here (no %s); " INSTALL_HINT "\n",
                bench_peer_name(peer), mpi->compiler);
        return;
    }
    fprintf(stderr, "rhinet bench: %s is left out: %s failed on %s\n", bench_peer_name(peer),
            mpi->compiler, source);
    print_log(log);
}

static bool is_of_layer(const struct bench_sheet *sheet, int peer)
{
    return !mpis[peer].is_of_layer_mpi || bench_layer_of(sheet)->is_mpi;
}

/* What Open MPI on rhinet is asked for cannot be measured without it. */
static void leave_out_mpi(struct bench_sheet *sheet)
{
    const struct bench_layer *layer = bench_layer_of(sheet);
    for (int i = 0; i < layer->case_count && mpis[BENCH_PROVIDER].program[0] == '\0'; i++) {
        if (layer->cases[i].has_mpi && sheet->wishes.is_chosen[i])
            fprintf(stderr, "rhinet bench: %s is left out\n", layer->cases[i].name);
        sheet->wishes.is_chosen[i] &= !layer->cases[i].has_mpi;
    }
}

int bench_peers_open(struct bench_sheet *sheet)
{
    int error = scratch_open(&work, NULL);
    if (error != 0) {
        fprintf(stderr, "rhinet bench: no folder for --peers in TMPDIR: %s\n", strerror(error));
        return -1;
    }
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    for (int peer = 0; peer < MPI_COUNT; peer++) {
        if (is_of_layer(sheet, peer))
            build((enum bench_peer)peer);
    }
    if (bench_layer_of(sheet)->is_mpi) {
        leave_out_mpi(sheet);
        return 0;
    }
    sheet->peer[BENCH_UCX].is_there = bench_ucx_is_there();
    if (!sheet->peer[BENCH_UCX].is_there)
        fprintf(stderr, "rhinet bench: UCX is not here (no ucx_perftest); " INSTALL_HINT "\n");
    return 0;
}

void bench_peers_close(struct bench_sheet *sheet)
{
    scratch_close(&work);
    for (int peer = 0; peer < BENCH_PEER_COUNT; peer++) {
        if (atomic_load(&sheet->peer[peer].has_failed))
            fprintf(stderr, "rhinet bench: %s failed; its figures are not complete\n",
                    bench_peer_name((enum bench_peer)peer));
    }
}

/* ---- Jobs ----------------------------------------------------------------------------------- */

static bool is_wanted(const struct bench_sheet *sheet, int rank_count)
{
    const struct bench_layer *layer = bench_layer_of(sheet);
    for (int i = 0; i < layer->case_count; i++) {
        if (sheet->wishes.is_chosen[i] && layer->cases[i].rank_count == rank_count &&
            layer->cases[i].has_mpi)
            return true;
    }
    return false;
}

static struct follow_sheet *make_sheet(const char *path)
{
    void *address = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && ftruncate(fd, sizeof(struct follow_sheet)) == 0)
        address = mmap(NULL, sizeof(struct follow_sheet), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       0);
    if (fd >= 0)
        close(fd);
    return address == MAP_FAILED ? NULL : address;
}

static void end_job(struct mpi *mpi)
{
    int64_t deadline_ns = clock_deadline_ns(END_NS);
    while (waitpid(mpi->pid, NULL, WNOHANG) == 0) {
        if (clock_now_ns() > deadline_ns) {
            kill(mpi->pid, SIGTERM); /* it ends its ranks */
            waitpid(mpi->pid, NULL, 0);
            break;
        }
        usleep(LOOK_US);
    }
    munmap(mpi->sheet, sizeof(*mpi->sheet));
    mpi->sheet = NULL;
}

static bool await_ready(struct mpi *mpi)
{
    int64_t deadline_ns = clock_deadline_ns(START_NS);
    siginfo_t ended = {0};
    while (!atomic_load(&mpi->sheet->is_ready)) {
        if (clock_now_ns() > deadline_ns)
            return false;
        if (waitid(P_PID, (id_t)mpi->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            ended.si_pid != 0)
            return false;
        usleep(LOOK_US);
    }
    return true;
}

static void begin_job(struct bench_sheet *sheet, enum bench_peer peer, int rank_count)
{
    struct mpi *mpi = &mpis[peer];
    struct bench_peer_way *way = &sheet->peer[peer];
    char log[SCRATCH_PATH_MAX + 16], count[16];
    const char *argv[ARGUMENT_MAX + 8] = {NULL};
    int argc = 0;
    snprintf(way->path, sizeof(way->path), "%s/sheet-%d", work.folder, peer);
    snprintf(log, sizeof(log), "%s/log-%d", work.folder, peer);
    snprintf(count, sizeof(count), "%d", rank_count);
    mpi->sheet = make_sheet(way->path);
    if (!mpi->sheet)
        return;
    for (; mpi->starter[argc]; argc++)
        argv[argc] = mpi->starter[argc];
    if (strcmp(argv[0], THIS_PROGRAM) == 0)
        argv[0] = bench_program();
    argv[argc++] = "-n";
    argv[argc++] = count;
    argv[argc++] = mpi->program;
    argv[argc++] = "--follow";
    argv[argc] = way->path;
    mpi->pid = start(argv, log);
    way->is_there = await_ready(mpi);
    if (way->is_there)
        return;
    fprintf(stderr, "rhinet bench: %s does not start with %d ranks\n", bench_peer_name(peer),
            rank_count);
    print_log(log);
    kill(mpi->pid, SIGTERM);
    end_job(mpi);
}

void bench_peers_start(struct bench_sheet *sheet, int rank_count)
{
    for (int peer = 0; peer < MPI_COUNT; peer++) {
        sheet->peer[peer].is_there = false;
        if (mpis[peer].program[0] != '\0' && rank_count <= mpis[peer].rank_max &&
            is_wanted(sheet, rank_count))
            begin_job(sheet, (enum bench_peer)peer, rank_count);
    }
}

void bench_peers_stop(struct bench_sheet *sheet)
{
    for (int peer = 0; peer < MPI_COUNT; peer++) {
        struct mpi *mpi = &mpis[peer];
        if (!sheet->peer[peer].is_there)
            continue;
        snprintf(mpi->sheet->name, sizeof(mpi->sheet->name), FOLLOW_QUIT);
        follow_tell(&mpi->sheet->step, mpi->sheet->step + 1);
        end_job(mpi);
        sheet->peer[peer].is_there = false;
    }
}

/* ---- Asking: in rank 0 ---------------------------------------------------------------------- */

static struct follow_sheet *map_sheet(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *address = MAP_FAILED;
    if (fd >= 0) {
        address = mmap(NULL, sizeof(struct follow_sheet), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       0);
        close(fd);
    }
    return address == MAP_FAILED ? NULL : address;
}

int bench_peers_ask(struct bench_run *run, enum bench_peer peer, double *figure)
{
    static struct follow_sheet *sheets[MPI_COUNT];
    if (!run->sheet->peer[peer].is_there)
        return -1;
    if (!sheets[peer])
        sheets[peer] = map_sheet(run->sheet->peer[peer].path);
    struct follow_sheet *sheet = sheets[peer];
    if (!sheet)
        return -1;
    int64_t deadline_ns = clock_deadline_ns(ANSWER_NS);
    uint32_t step = atomic_load(&sheet->step) + 1;
    snprintf(sheet->name, sizeof(sheet->name), "%s", run->bench_case->name);
    follow_tell(&sheet->step, step);
    for (uint32_t done; (done = atomic_load(&sheet->done)) != step;) {
        if (clock_now_ns() > deadline_ns)
            return -1;
        follow_sleep(&sheet->done, done);
    }
    *figure = sheet->value;
    return 0;
}

/* A peer that takes long is not asked in every round. */
void bench_peers_measure(struct bench_run *run, struct bench_round *round)
{
    static const struct bench_case *last;
    static int64_t spent_ns[BENCH_PEER_COUNT];
    const struct bench_case *which = run->bench_case;
    if (last != which)
        memset(spent_ns, 0, sizeof(spent_ns));
    last = which;
    for (int peer = 0; peer < BENCH_PEER_COUNT; peer++) {
        struct bench_peer_way *way = &run->sheet->peer[peer];
        bool can = peer == BENCH_UCX ? which->ucx != NULL : which->has_mpi;
        if (!can || peer == BENCH_PROVIDER || !way->is_there || atomic_load(&way->has_failed) ||
            spent_ns[peer] > run->sheet->wishes.case_time_ns / SHARE)
            continue;
        int64_t start_ns = clock_now_ns();
        int result = peer == BENCH_UCX
                         ? bench_ucx_measure(which, &round->peer[peer])
                         : bench_peers_ask(run, (enum bench_peer)peer, &round->peer[peer]);
        if (result < 0)
            atomic_store(&way->has_failed, true);
        spent_ns[peer] += clock_now_ns() - start_ns;
    }
}

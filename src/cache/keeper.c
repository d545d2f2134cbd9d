/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See keeper.h.
 *
 * It is the agent, not this process, that is the rank of the job: the task manager notices its end
 * by the connection that only the agent holds, and the other nodes stop counting on it.
 */
#include "cache/keeper.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory_room.h"
#include "base/settings.h"
#include "base/text.h"
#include "cache/agent.h"
#include "cache/mounts.h"
#include "cache/raw.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>

#define START_NS        (120 * NS_PER_S)
#define LOOK_NS         (50 * NS_PER_MS)
#define AUTO_BYTES_MOST (8ull << 30)
#define AUTO_PART       8 /* there may be other nodes on this host */

struct keeper {
    struct agent_options agent;
    char socket_name[64];
    int agent_pid;   /* 0: it is gone */
    int program_pid; /* 0: it has ended */
    int status;      /* the program's, as waitpid gives it */
};

/* ---- Settings ------------------------------------------------------------------------------- */

static int bad(const struct settings *settings, enum setting which, const char *expected)
{
    return error_set(RH_EINVALID, ERROR_NO_RANK, "%s=%s: expected %s", setting_spec(which)->name,
                     setting_text(settings, which), expected);
}

static uint64_t auto_bytes(void)
{
    const char *limit;
    uint64_t bytes = memory_room(&limit) / AUTO_PART;
    return bytes < AUTO_BYTES_MOST ? bytes : AUTO_BYTES_MOST;
}

static int read_sizes(const struct settings *settings, struct node_options *node)
{
    const char *size = setting_text(settings, SETTING_CACHE_SIZE);
    const char *ratio = setting_text(settings, SETTING_CACHE_SINGLETS);
    const char *pretend = setting_text(settings, SETTING_CACHE_PRETEND);
    uint64_t block;
    node->bytes = auto_bytes();
    if (strcmp(size, "auto") != 0 && !text_to_size(size, &node->bytes))
        return bad(settings, SETTING_CACHE_SIZE, "a size such as 8G, or auto");
    if (!text_to_size(setting_text(settings, SETTING_CACHE_BLOCK), &block) ||
        block > CACHE_BLOCK_MOST)
        return bad(settings, SETTING_CACHE_BLOCK, "a power of two from 64K to 64M");
    node->block_length = (uint32_t)block;
    node->singlet_ratio = -1;
    if (strcmp(ratio, "auto") != 0 && (!text_to_real(ratio, &node->singlet_ratio) ||
                                       node->singlet_ratio < 0 || node->singlet_ratio > 0.99))
        return bad(settings, SETTING_CACHE_SINGLETS, "a number from 0 to 0.99, or auto");
    if (pretend[0] && !text_to_size(pretend, &node->pretended))
        return bad(settings, SETTING_CACHE_PRETEND, "bytes per second, such as 100M");
    return 0;
}

static int read_settings(const struct settings *settings, struct agent_options *options)
{
    struct node_options *node = &options->node;
    node->group_count = (int)setting_number(settings, SETTING_CACHE_GROUPS);
    node->lease_ns = (int64_t)setting_number(settings, SETTING_CACHE_LEASE);
    node->use_checksum = setting_number(settings, SETTING_CACHE_CHECKSUM) != 0;
    node->use_direct = setting_number(settings, SETTING_CACHE_DIRECT) == 0;
    options->thread_count = (int)setting_number(settings, SETTING_CACHE_THREADS);
    return read_sizes(settings, node);
}

static int add_paths(struct cache_control *control, const char *list)
{
    char text[256];
    if (list[0] == '\0')
        return mounts_add_network(control);
    snprintf(text, sizeof(text), "%s", list);
    char *rest = text;
    for (char *path; (path = strsep(&rest, ":"));) {
        int result = path[0] ? mounts_add_path(control, path) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- Memory --------------------------------------------------------------------------------- */

static int make_control(struct keeper *keeper, const struct settings *settings)
{
    struct cache_shape shape;
    int result = node_shape(&keeper->agent.node, &shape);
    if (result < 0)
        return result;
    struct memory_shape memory = {.name = KEEPER_MEMORY_NAME, .length = shape.control_length};
    int fd = memory_create(&memory);
    if (fd < 0)
        return fd;
    struct cache_control *control = mmap(NULL, shape.control_length, PROT_READ | PROT_WRITE,
                                         MAP_SHARED, fd, 0);
    if (control == MAP_FAILED) {
        close(fd);
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "cannot map the cache's control memory: %s",
                         strerror(errno));
    }
    control->shape = shape;
    control->start_ns = clock_now_ns();
    control->settle_ns = (int64_t)setting_number(settings, SETTING_CACHE_SETTLE);
    control->patience_ns = (int64_t)setting_number(settings, SETTING_CACHE_PATIENCE);
    control->ahead_most = (uint32_t)setting_number(settings, SETTING_CACHE_AHEAD);
    control->version = CACHE_VERSION;
    control->magic = CACHE_MAGIC;
    keeper->agent.control = control;
    keeper->agent.control_fd = fd;
    return add_paths(control, setting_text(settings, SETTING_CACHE_PATH));
}

/* ---- Processes ------------------------------------------------------------------------------ */

static int start_agent(struct keeper *keeper, const struct settings *settings)
{
    int parent = getpid();
    fflush(NULL);
    int pid = fork();
    if (pid < 0)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "cannot start the cache's agent: %s",
                         strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "rhinet-cache");
        if (getppid() != parent)
            _exit(1);
        _exit(agent_run(&keeper->agent) < 0 ? 1 : 0);
    }
    keeper->agent_pid = pid;
    int manager_fd = (int)setting_number(settings, SETTING_MANAGER_FD);
    if (manager_fd > 2)
        close(manager_fd); /* the agent's alone */
    return 0;
}

static void agent_is_gone(struct keeper *keeper)
{
    struct cache_control *control = keeper->agent.control;
    keeper->agent_pid = 0;
    atomic_store_explicit(&control->agent_state, CACHE_AGENT_GONE, memory_order_release);
    for (uint32_t i = 0; i < control->shape.request_count; i++)
        raw_futex_wake(&control->request[i].stage, INT32_MAX);
}

/* Take note of a child that has ended. */
static void note_end(struct keeper *keeper, int pid, int status)
{
    if (pid == keeper->program_pid) {
        keeper->program_pid = 0;
        keeper->status = status;
    }
    if (pid != keeper->agent_pid)
        return;
    agent_is_gone(keeper);
    if (WIFSIGNALED(status) && keeper->program_pid)
        fprintf(stderr,
                "rhinet cache: the agent of node %d was killed by signal %d; its program goes on "
                "with the file system alone\n",
                keeper->agent.control->rank, WTERMSIG(status));
}

static void await_agent(struct keeper *keeper)
{
    struct cache_control *control = keeper->agent.control;
    int64_t deadline = clock_deadline_ns(START_NS);
    int status;
    while (keeper->agent_pid && clock_now_ns() < deadline) {
        uint32_t state = atomic_load_explicit(&control->agent_state, memory_order_acquire);
        if (state != CACHE_AGENT_STARTING)
            return;
        raw_futex_wait(&control->agent_state, state, LOOK_NS);
        int pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0)
            note_end(keeper, pid, status);
    }
}

static void set_preload(const char *preload)
{
    const char *before = getenv("LD_PRELOAD");
    char *both = NULL;
    if (!before || !before[0])
        setenv("LD_PRELOAD", preload, 1);
    else if (asprintf(&both, "%s:%s", preload, before) >= 0)
        setenv("LD_PRELOAD", both, 1);
    free(both);
}

static int start_program(struct keeper *keeper, char *const *argv, const char *preload)
{
    int pid = fork();
    if (pid < 0)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "cannot start %s: %s", argv[0],
                         strerror(errno));
    if (pid > 0) {
        keeper->program_pid = pid;
        return 0;
    }
    unsetenv("RHINET_MANAGER_FD");
    if (keeper->agent_pid) {
        setenv(CACHE_SOCKET_VARIABLE, keeper->socket_name, 1);
        if (preload)
            set_preload(preload);
    }
    execvp(argv[0], argv);
    fprintf(stderr, "rhinet cache: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void await_children(struct keeper *keeper)
{
    struct cache_control *control = keeper->agent.control;
    int status;
    while (keeper->program_pid || keeper->agent_pid) {
        int pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno != EINTR)
            return;
        if (pid > 0)
            note_end(keeper, pid, status);
        if (keeper->program_pid || !keeper->agent_pid)
            continue;
        if (keeper->status != 0) { /* a failed program's node does not stay for the others */
            kill(keeper->agent_pid, SIGKILL);
            continue;
        }
        atomic_store_explicit(&control->stop, 1, memory_order_release);
    }
}

static int finish(const struct keeper *keeper)
{
    if (WIFSIGNALED(keeper->status)) {
        signal(WTERMSIG(keeper->status), SIG_DFL);
        raise(WTERMSIG(keeper->status));
        return 128 + WTERMSIG(keeper->status);
    }
    return WEXITSTATUS(keeper->status);
}

int keeper_run(char *const *argv, const char *preload, const struct settings *settings)
{
    struct keeper keeper = {0};
    uint64_t chance = 0;
    (void)!getrandom(&chance, sizeof(chance), 0);
    snprintf(keeper.socket_name, sizeof(keeper.socket_name), "rhinet-cache-%d-%016llx", getpid(),
             (unsigned long long)chance);
    keeper.agent.socket_name = keeper.socket_name;
    int result = read_settings(settings, &keeper.agent);
    if (result == 0)
        result = make_control(&keeper, settings);
    if (result == 0) {
        snprintf(keeper.agent.control->program, sizeof(keeper.agent.control->program), "%s",
                 argv[0]);
        result = start_agent(&keeper, settings);
    }
    if (result == 0) {
        await_agent(&keeper);
        result = start_program(&keeper, argv, preload);
    }
    if (result < 0) {
        fprintf(stderr, "rhinet cache: %s\n", rh_error_text());
        return 1;
    }
    await_children(&keeper);
    return finish(&keeper);
}

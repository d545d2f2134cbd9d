/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet-cache-mount READONLY FOLDER PLACE [PROGRAM ARGUMENT...]: what `rhinet cache mount` starts,
 * a program of its own so that only it needs libfuse. READONLY: 0 or 1. Serves until it is told to
 * end; with a PROGRAM, until that has ended, and then ends with its status.
 */
#include "cache/client/client.h"
#include "cache/mount/passthrough.h"
#include "cache/mount/unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS       1000000
#define HEARING_PAUSES 1000
#define ENDING_PAUSES  5000

struct mount {
    struct passthrough passthrough;
    const char *folder, *place;
    char *const *program; /* NULL: none */
    struct fuse *fuse;
    _Atomic pid_t pid;      /* the program; 0: it does not run */
    int status;             /* of the program */
    _Atomic bool has_ended; /* it */
    pthread_t main;
    sigset_t ending;       /* signals that end us */
    _Atomic bool has_left; /* the loop */
};

static int fail(const char *what, const char *name)
{
    fprintf(stderr, "rhinet cache mount: %s %s: %s\n", what, name, strerror(errno));
    return 1;
}

/* Waits for the program in a thread of its own, and ends the loop after it. */
static void *run_program(void *object)
{
    struct mount *mount = object;
    pid_t pid;
    int status = 0;
    posix_spawnattr_t attributes; /* this thread has all signals blocked, the program has not */
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    errno = posix_spawnp(&pid, mount->program[0], NULL, &attributes, mount->program, environ);
    if (errno != 0) {
        fail("cannot start", mount->program[0]);
        mount->status = 127;
    } else {
        mount->pid = pid;
        waitpid(pid, &status, 0);
        mount->pid = 0;
        mount->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    mount->has_ended = true;
    kill(getpid(), SIGTERM); /* await_signal() gets it */
    return NULL;
}

static int mount_it(struct mount *mount)
{
    char option[] = "-o", name[] = "rhinet-cache-mount";
    char text[] = "r?,default_permissions,fsname=" MOUNT_SOURCE;
    text[1] = mount->passthrough.is_read_only ? 'o' : 'w';
    char *words[] = {name, option, text};
    struct fuse_args arguments = FUSE_ARGS_INIT(3, words);
    mount->fuse = fuse_new(&arguments, &passthrough_operations, sizeof(passthrough_operations),
                           &mount->passthrough);
    fuse_opt_free_args(&arguments);
    if (mount->fuse && fuse_mount(mount->fuse, mount->place) == 0)
        return 0;
    if (mount->fuse)
        fuse_destroy(mount->fuse);
    return -1;
}

static bool start_waiter(struct mount *mount, pthread_t *waiter)
{
    bool is_there = mount->program && pthread_create(waiter, NULL, run_program, mount) == 0;
    if (!is_there)
        mount->has_ended = true;
    return is_there;
}

/* Tells the program to end, and then makes it. Served meanwhile: what it closes, it must close. */
static void end_program(struct mount *mount)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    for (int i = 0; i < 2; i++) {
        bool is_told = false;
        for (int pause = 0; pause < ENDING_PAUSES && !mount->has_ended; pause++) {
            pid_t pid = mount->pid; /* perhaps it is only just being started */
            if (!is_told && pid > 0)
                is_told = kill(pid, signals[i]) == 0;
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        }
    }
}

/* The loop has ended, perhaps because somebody has unmounted us: then the program is still
 * there. */
static void end_waiter(struct mount *mount, pthread_t waiter)
{
    struct timespec until;
    end_program(mount);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    (void)pthread_timedjoin_np(waiter, NULL, &until); /* if it cannot be killed, we go first */
}

/* ---- Signals --------------------------------------------------------------------------------- */

static void do_nothing(int number) {}

/* Those that end us are blocked in all threads, and one waits for them. FUSE's loop looks whether
 * it is to end, and then waits: a signal that came between the two would not wake it. */
static void block_signals(sigset_t *ending)
{
    struct sigaction nothing = {.sa_handler = do_nothing}; /* without SA_RESTART: it interrupts */
    sigemptyset(ending);
    sigaddset(ending, SIGTERM);
    sigaddset(ending, SIGINT);
    sigaddset(ending, SIGHUP);
    pthread_sigmask(SIG_BLOCK, ending, NULL);
    sigaction(SIGUSR1, &nothing, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* What the program had open when it ended, the kernel tells us after its end, and not at all once
 * we are unmounted: libfuse keeps memory for it then. Others may have something open for as long as
 * they like; they are given a second at most. */
static void hear_the_rest(const struct mount *mount)
{
    for (int i = 0; i < HEARING_PAUSES && mount->passthrough.open_count > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* Ends the program and the loop at the first signal, and wakes that until it has noticed. */
static void *await_signal(void *object)
{
    struct mount *mount = object;
    struct timespec pause = {.tv_nsec = 10000000};
    int number;
    while (sigwait(&mount->ending, &number) != 0)
        ;
    if (mount->program) {
        end_program(mount);
        hear_the_rest(mount);
    }
    fuse_session_exit(fuse_get_session(mount->fuse));
    while (!mount->has_left) {
        pthread_kill(mount->main, SIGUSR1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int serve(struct mount *mount)
{
    struct fuse_loop_config config = {.clone_fd = 0, .max_idle_threads = 10};
    pthread_t waiter, listener;
    mount->main = pthread_self();
    if ((errno = pthread_create(&listener, NULL, await_signal, mount)) != 0)
        return fail("cannot wait for signals at", mount->place);
    bool has_waiter = start_waiter(mount, &waiter);
    int ended = fuse_loop_mt(mount->fuse, &config);
    mount->has_left = true;
    pthread_kill(listener, SIGTERM); /* if it was not a signal that ended the loop */
    pthread_join(listener, NULL);
    if (has_waiter)
        end_waiter(mount, waiter);
    return has_waiter ? mount->status : ended < 0; /* a signal is the way to end it */
}

int main(int argc, char **argv)
{
    int status;
    if (unmount_is_meant(argc, argv, &status))
        return status;
    if (argc < 4) {
        fprintf(stderr, "usage: rhinet-cache-mount READONLY FOLDER PLACE [PROGRAM...]\n");
        return 2;
    }
    struct mount mount = {.folder = argv[2], .place = argv[3]};
    mount.program = argc > 4 ? argv + 4 : NULL;
    mount.passthrough.is_read_only = argv[1][0] == '1';
    pthread_mutex_init(&mount.passthrough.lock, NULL);
    block_signals(&mount.ending);
    mount.passthrough.folder = open(mount.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mount.passthrough.folder < 0)
        return fail("cannot show", mount.folder);
    if (cache_client_attach(&mount.passthrough.client, NULL) < 0) {
        mount.passthrough.client = NULL;
        fprintf(stderr, "rhinet cache mount: no cache here, files are shown without; start this "
                        "with `rhinet cache run`\n");
    }
    umask(0); /* modes are those that the programs ask for */
    int unmounter;
    if ((errno = unmount_prepare(mount.place, &unmounter)) != 0)
        return fail("cannot mount at", mount.place);
    if (mount_it(&mount) != 0) {
        status = fail("cannot mount at", mount.place);
        unmount_tell_done(unmounter); /* what is there is another's */
        return status;
    }
    unmount_tell_mounted(unmounter, mount.place);
    status = serve(&mount);
    fuse_unmount(mount.fuse);
    unmount_tell_done(unmounter);
    fuse_destroy(mount.fuse);
    passthrough_end(&mount.passthrough); /* of what we were not told, a writer must end */
    return status;
}

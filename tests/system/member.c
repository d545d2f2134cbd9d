/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member of a job for the system tests.
 *   hello  joins, says its rank, leaves
 *   idle   opens a segment, says "ready", then sleeps in a wait until somebody ends it
 *   crash  as idle, but rank 0 touches memory that it may not
 *   orphan rank 0 is killed while a child of its still has its descriptors; the others say so
 */
#include <rhinet/rma.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SID 1

static int idle(struct rh_job *job, bool crashes)
{
    void *base;
    if (rh_segment_alloc(job, SID, 4096, &base) < 0) {
        fprintf(stderr, "%s\n", rh_error_text());
        return 1;
    }
    printf("ready %d %d\n", rh_rank(job), (int)getpid());
    fflush(stdout);
    if (crashes && rh_rank(job) == 0) {
        char *guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *guarded = 1;
    }
    struct rh_wait wait = {
        .word = base, .value = 1, .from = RH_ANY_RANK, .timeout_ns = RH_TIMEOUT_LONGEST};
    return rh_wait_word(job, &wait) < 0 ? 1 : 0;
}

static int orphan(struct rh_job *job)
{
    uint64_t *base;
    if (rh_segment_alloc(job, SID, 4096, (void **)&base) < 0)
        return 2;
    if (rh_rank(job) == 0) {
        if (rh_segment_wait(job, 1, SID, RH_TIMEOUT_LONGEST) < 0)
            return 2;
        if (fork() == 0) {
            sleep(100);
            _exit(0);
        }
        kill(getpid(), SIGKILL);
    }
    struct rh_wait wait = {
        .word = base, .value = 1, .from = 0, .timeout_ns = 15LL * 1000 * 1000 * 1000};
    int result = rh_wait_word(job, &wait);
    printf("%s: %s\n", rh_error_name(result), rh_error_text());
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    struct rh_job *job;
    const char *mode = argc > 1 ? argv[1] : "hello";
    if (rh_join(&job, NULL) < 0) {
        fprintf(stderr, "cannot join: %s\n", rh_error_text());
        return 1;
    }
    int status = 0;
    if (strcmp(mode, "hello") == 0)
        printf("rank %d of %d\n", rh_rank(job), rh_size(job));
    else if (strcmp(mode, "orphan") == 0)
        status = orphan(job);
    else
        status = idle(job, strcmp(mode, "crash") == 0);
    rh_leave(job);
    return status;
}

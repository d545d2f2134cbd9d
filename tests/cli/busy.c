/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job to look at: every rank pushes to the next until the file named by its argument is gone, and
 * rank 1 also asks, three times, for what it may not have.
 */
#include <rhinet/rma.h>
#include <stdio.h>
#include <unistd.h>

#define SID    1
#define LENGTH 4096
#define DENIED 3

static int push_around(struct rh_job *job, const char *path)
{
    char block[100] = {0};
    void *base;
    int next = (rh_rank(job) + 1) % rh_size(job);
    int result = rh_segment_alloc(job, SID, LENGTH, &base);
    if (result < 0)
        return result;
    result = rh_segment_wait(job, next, SID, RH_TIMEOUT_DEFAULT);
    for (int i = 0; result == 0 && rh_rank(job) == 1 && i < DENIED; i++)
        result = rh_push(job, rh_at(next, SID, LENGTH), block, 1) == RH_EBOUNDS ? 0 : RH_EINVALID;
    /* A few minutes at most: a test that dies must not leave a job behind. */
    for (int i = 0; result == 0 && i < 200000 && access(path, F_OK) == 0; i++) {
        result = rh_push(job, rh_at(next, SID, 0), block, sizeof(block));
        usleep(1000);
    }
    return result == RH_EDEAD ? 0 : result; /* the neighbour was the first to see it gone */
}

int main(int argc, char **argv)
{
    struct rh_job *job;
    if (argc < 2 || rh_join(&job, NULL) < 0) {
        fprintf(stderr, "busy: %s\n", argc < 2 ? "which file?" : rh_error_text());
        return 1;
    }
    int result = push_around(job, argv[1]);
    if (result < 0)
        fprintf(stderr, "busy: %s\n", rh_error_text());
    int left = rh_leave(job);
    return result < 0 || left < 0;
}

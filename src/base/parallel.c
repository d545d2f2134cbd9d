/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See parallel.h.
 */
#include "base/parallel.h"

#include "base/cores.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define THREADS_MAX 64

static _Atomic uint32_t threads_wanted;

struct parallel_job {
    parallel_part run;
    void *context;
    uint32_t part_count;
    _Atomic uint32_t next;
};

void parallel_threads_set(uint32_t thread_count)
{
    atomic_store(&threads_wanted, thread_count > THREADS_MAX ? THREADS_MAX : thread_count);
}

static uint32_t parallel_threads(void)
{
    uint32_t wanted = atomic_load(&threads_wanted);
    if (wanted != 0)
        return wanted;
    unsigned cores = cores_allowed();
    return cores > THREADS_MAX ? THREADS_MAX : cores;
}

static void *worker(void *argument)
{
    struct parallel_job *job = argument;
    uint32_t part;
    while ((part = atomic_fetch_add(&job->next, 1)) < job->part_count)
        job->run(job->context, part);
    return NULL;
}

void parallel_run(uint32_t part_count, parallel_part run, void *context)
{
    struct parallel_job job = {.run = run, .context = context, .part_count = part_count};
    pthread_t threads[THREADS_MAX];
    uint32_t wanted = parallel_threads(), started = 0;
    if (wanted > part_count)
        wanted = part_count;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, worker, &job) == 0)
        started++;
    worker(&job);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

double parallel_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

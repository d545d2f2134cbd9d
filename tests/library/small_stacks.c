/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads with the smallest stacks that there are, in a program that is linked with the library:
 * what the library keeps for each thread comes off them. They start, and can write remote memory.
 */
#include <pthread.h>
#include <rhinet/rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 8
#define SID     7

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "FAIL line %d: %s; %s\n", __LINE__, #condition, rh_error_text());      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct rh_job *job;
static pthread_barrier_t all_run;

static void *write_word(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument;
    pthread_barrier_wait(&all_run);
    MUST(rh_push(job, rh_at(0, SID, 8 * number), &number, sizeof(number)) == 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_attr_t small;
    void *base;
    MUST(rh_join(&job, NULL) == 0);
    MUST(rh_segment_alloc(job, SID, 8 * THREADS, &base) == 0);
    MUST(pthread_barrier_init(&all_run, NULL, THREADS) == 0);
    MUST(pthread_attr_init(&small) == 0);
    /* PTHREAD_STACK_MIN is this call, or what it was before processors had many registers. */
    MUST(pthread_attr_setstacksize(&small, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], &small, write_word, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    for (uint64_t i = 0; i < THREADS; i++)
        MUST(((uint64_t *)base)[i] == i);
    MUST(rh_leave(job) == 0);
    return 0;
}

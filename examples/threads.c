/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program for threads, on several processes. It was written with pthreads: a pool of work and a
 * table of results in shared memory, a mutex for each, a barrier at the end. What had to change
 * stands in five macros and in main(): threads are ranks, and shared variables live in a struct in
 * shared pages, since a global variable of one process is not another's.
 *
 *     rhinet run -n 4 threads
 */
#include "check.h"

#include <rhinet/dsm_pages.h>

#define pthread_mutex_lock(lock)      check(rh_dsm_pages_lock(pages, lock, RH_DSM_WRITE, WAIT))
#define pthread_mutex_unlock(lock)    check(rh_dsm_pages_unlock(pages, lock))
#define pthread_cond_wait(lock)       check(rh_dsm_pages_wait(pages, lock, WAIT))
#define pthread_cond_broadcast(lock)  check(rh_dsm_pages_broadcast(pages, lock))
#define pthread_barrier_wait(barrier) check(rh_dsm_pages_barrier(barrier, WAIT))

enum { WAIT = RH_TIMEOUT_DEFAULT, LIMIT = 60000, PIECE = 500, ENDINGS = 10 };
enum { POOL_LOCK, TABLE_LOCK, LOCKS };

struct shared {
    int is_open;         /* POOL_LOCK: the pool is filled */
    int next;            /* POOL_LOCK: first number that nobody has taken */
    int primes[ENDINGS]; /* TABLE_LOCK: found so far, by their last digit */
    int pieces;          /* TABLE_LOCK: done */
};

static int is_prime(int number)
{
    for (int i = 2; i * i <= number; i++)
        if (number % i == 0)
            return 0;
    return number >= 2;
}

/* What each thread ran. */
static int work(struct rh_dsm_pages *pages, struct shared *shared)
{
    int taken = 0;
    for (;;) {
        pthread_mutex_lock(POOL_LOCK);
        while (!shared->is_open)
            pthread_cond_wait(POOL_LOCK);
        int first = shared->next;
        shared->next += PIECE;
        pthread_mutex_unlock(POOL_LOCK);
        if (first >= LIMIT)
            return taken;
        int found[ENDINGS] = {0};
        for (int number = first; number < first + PIECE; number++)
            found[number % ENDINGS] += is_prime(number);
        pthread_mutex_lock(TABLE_LOCK);
        for (int i = 0; i < ENDINGS; i++)
            shared->primes[i] += found[i];
        shared->pieces++;
        pthread_mutex_unlock(TABLE_LOCK);
        taken++;
    }
}

int main(void)
{
    struct rh_job *job;
    struct rh_dsm *dsm;
    struct rh_dsm_pages *pages;
    struct rh_dsm_pages_options options = {
        .struct_size = sizeof(options), .length = sizeof(struct shared), .lock_count = LOCKS};
    check(rh_join(&job, NULL));
    check(rh_dsm_open(&dsm, job, NULL));
    check(rh_dsm_pages_open(&pages, dsm, &options));
    struct shared *shared = rh_dsm_pages_base(pages); /* zeroed, as global variables are */
    if (rh_rank(job) == rh_size(job) - 1) {
        pthread_mutex_lock(POOL_LOCK);
        shared->is_open = 1;
        pthread_cond_broadcast(POOL_LOCK);
        pthread_mutex_unlock(POOL_LOCK);
    }
    int taken = work(pages, shared), primes = 0;
    pthread_barrier_wait(pages);
    for (int i = 0; i < ENDINGS; i++)
        primes += shared->primes[i];
    printf("rank %d took %d of %d pieces\n", rh_rank(job), taken, shared->pieces);
    if (rh_rank(job) == 0)
        printf("%d primes below %d\n", primes, LIMIT);
    check(rh_dsm_pages_close(pages));
    check(rh_dsm_close(dsm));
    return rh_leave(job) < 0 || primes != 6057;
}

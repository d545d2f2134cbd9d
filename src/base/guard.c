/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See guard.h. The list of threads is the process's, not a job's: a thread may serve several jobs.
 * Records are reused, never freed, so the list can be walked at any time.
 */
#include "base/guard.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct guard_record *guard_mine __attribute__((tls_model("initial-exec")));

static _Atomic(struct guard_record *) records;
static pthread_key_t record_key;
static bool has_key, has_membarrier;

static void thread_ends(void *record)
{
    atomic_store_explicit(&((struct guard_record *)record)->is_taken, false, memory_order_release);
}

static void prepare(void)
{
    has_key = pthread_key_create(&record_key, thread_ends) == 0;
    has_membarrier = has_key &&
                     syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* The library is unloaded (or the process ends): threads that have used it may live on, and must
 * not call what is no longer there when they end. Their records, a line each, are left behind: at
 * the end of a process others may still be inside. */
__attribute__((destructor)) static void library_ends(void)
{
    if (has_key)
        pthread_key_delete(record_key);
}

static struct guard_record *reuse_record(void)
{
    struct guard_record *record = atomic_load_explicit(&records, memory_order_acquire);
    for (; record; record = record->next) {
        if (!atomic_load_explicit(&record->is_taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&record->is_taken, true, memory_order_acquire))
            return record;
    }
    return NULL;
}

struct guard_record *guard_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static struct guard_record
        spare; /* no memory: threads share this one, which then never rests */
    pthread_once(&once, prepare);
    struct guard_record *record = reuse_record();
    if (!record) {
        record = aligned_alloc(64, sizeof(*record));
        if (!record) {
            has_membarrier = false; /* nothing is freed early from now on */
            return &spare;
        }
        *record = (struct guard_record){.is_taken = true};
        record->next = atomic_load_explicit(&records, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&records, &record->next, record,
                                                      memory_order_release, memory_order_relaxed))
            ;
    }
    if (has_membarrier)
        pthread_setspecific(record_key, record);
    guard_mine = record;
    return record;
}

bool guard_idle(void)
{
    if (!has_membarrier)
        return false;
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    struct guard_record *record = atomic_load_explicit(&records, memory_order_acquire);
    for (; record; record = record->next) {
        if (record != guard_mine && atomic_load_explicit(&record->depth, memory_order_acquire) != 0)
            return false;
    }
    return true;
}

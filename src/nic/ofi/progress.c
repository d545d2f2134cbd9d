/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress: reading the completion queue, and the progress thread that does it while the program
 * does not. What a completion is about stands at the start of its context.
 */
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "nic/ofi/ofi_nic.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BATCH        16
#define PARKED_MS    1   /* between looks whether the program still makes progress */
#define IDLE_MS      100 /* between looks for deaths */
#define POLLING_MS   1   /* the same where the provider has no descriptor to sleep on */
#define LINGER_NS    (50 * NS_PER_US)
#define SPURIOUS_MAX 100
#define BATCHES_MAX  64 /* in one go, so that the lock becomes free */

/* ---- Completions ---------------------------------------------------------------------------- */

static void receive_over(struct ofi_nic *ofi, struct ofi_buffer *buffer, size_t length,
                         bool is_good)
{
    if (is_good)
        ofi_serve(ofi, &buffer->message, length);
    ofi_receive_post(ofi, buffer);
}

static void handle(struct ofi_nic *ofi, struct ofi_context *context, size_t length, int result)
{
    if (!context)
        return;
    switch (context->use) {
    case OFI_USE_RECEIVE:
        receive_over(ofi, (struct ofi_buffer *)context, length, result == 0);
        break;
    case OFI_USE_SEND:
        ((struct ofi_buffer *)context)->next = ofi->free_sends;
        ofi->free_sends = (struct ofi_buffer *)context;
        break;
    case OFI_USE_PIECE:
        ofi_piece_over(ofi, (struct ofi_piece *)context, result);
        break;
    }
}

static void handle_error(struct ofi_nic *ofi)
{
    struct fi_cq_err_entry error = {0};
    if (fi_cq_readerr(ofi->cq, &error, 0) != 1)
        return;
    log_debug("%s: completion with error: %s", ofi->info->fabric_attr->prov_name,
              ofi_library.strerror(error.err));
    handle(ofi, error.op_context, 0, -ENOTCONN);
}

static void look_for_deaths(struct ofi_nic *ofi)
{
    const struct nic_job *job = ofi->nic.job;
    uint32_t deaths = atomic_load_explicit(&job->roster->death_count, memory_order_acquire);
    if (deaths == ofi->deaths_seen)
        return;
    ofi->deaths_seen = deaths;
    for (int rank = 0; rank < job->size; rank++) {
        if (ofi_is_gone(ofi, rank))
            ofi_peer_fail(ofi, rank);
    }
}

unsigned ofi_progress(struct ofi_nic *ofi)
{
    struct fi_cq_data_entry entry[BATCH];
    unsigned handled = 0;
    for (unsigned batch = 0; batch < BATCHES_MAX; batch++) {
        ssize_t count = fi_cq_read(ofi->cq, entry, BATCH);
        if (count == -FI_EAGAIN)
            break;
        if (count < 0) {
            handle_error(ofi);
            handled++;
            continue;
        }
        for (ssize_t i = 0; i < count; i++)
            handle(ofi, entry[i].op_context, entry[i].len, 0);
        handled += (unsigned)count;
        if (count < BATCH)
            break;
    }
    if (unlikely(ofi->outgoing != NULL))
        ofi_waiting_send(ofi);
    if (unlikely(ofi->has_stalled))
        ofi_moves_go_on(ofi);
    look_for_deaths(ofi);
    return handled;
}

static void ring_if(struct ofi_nic *ofi, unsigned handled)
{
    if (handled > 0)
        shm_inside_ring(ofi->inner);
}

/* Called by the inner NIC between two looks of a wait. */
static void progress_if_free(void *context)
{
    struct ofi_nic *ofi = context;
    uint32_t looks = atomic_load_explicit(&ofi->program_looks, memory_order_relaxed);
    atomic_store_explicit(&ofi->program_looks, looks + 1, memory_order_relaxed); /* a hint */
    if (pthread_mutex_trylock(&ofi->lock) != 0)
        return; /* somebody else is at it */
    unsigned handled = ofi_progress(ofi);
    ofi_unlock(ofi);
    ring_if(ofi, handled);
}

void ofi_progress_surely(struct ofi_nic *ofi)
{
    ofi_lock(ofi);
    unsigned handled = ofi_progress(ofi);
    ofi_unlock(ofi);
    ring_if(ofi, handled);
}

/* ---- The progress thread -------------------------------------------------------------------- */

static void kick_progress_thread(struct ofi_nic *ofi)
{
    atomic_store(&ofi->progress_wanted, true);
    if (atomic_load(&ofi->progress_parked))
        eventfd_write(ofi->progress_kick, 1);
}

static void thread_sleeps(void *context)
{
    kick_progress_thread(context);
}

static void clear_kick(struct ofi_nic *ofi)
{
    eventfd_t count;
    eventfd_read(ofi->progress_kick, &count);
}

/* The program makes progress by itself: keep out of its way, but see when it stops. */
static void park(struct ofi_nic *ofi)
{
    struct pollfd kicked = {.fd = ofi->progress_kick, .events = POLLIN};
    atomic_store(&ofi->progress_parked, true);
    if (!atomic_load(&ofi->progress_wanted) && !atomic_load(&ofi->progress_stop) &&
        poll(&kicked, 1, PARKED_MS) > 0)
        clear_kick(ofi);
    atomic_store(&ofi->progress_parked, false);
}

/* Whether the progress thread may sleep, and how long: libfabric must agree where it lent the
 * descriptor. */
static bool may_sleep(struct ofi_nic *ofi, int *timeout_ms)
{
    struct fid *waited = &ofi->cq->fid;
    ofi_lock(ofi);
    bool agrees = ofi->cq_fd < 0 || fi_trywait(ofi->fabric, &waited, 1) == 0;
    bool is_watched = ofi->cq_fd >= 0 || (ofi->has_sockets && ofi_sockets_are_settled(ofi));
    *timeout_ms = is_watched && !ofi->outgoing && !ofi->has_stalled ? IDLE_MS : POLLING_MS;
    ofi_unlock(ofi);
    return agrees;
}

/* Sleep until something comes from the network; true if it has. */
static bool sleep_on_network(struct ofi_nic *ofi)
{
    int timeout_ms;
    struct pollfd lent[2] = {{.fd = ofi->progress_kick, .events = POLLIN},
                             {.fd = ofi->cq_fd, .events = POLLIN}};
    if (!may_sleep(ofi, &timeout_ms))
        return true;
    bool is_listed = ofi->cq_fd < 0 && ofi->sockets; /* only this thread changes the list */
    struct pollfd *ready = is_listed ? ofi->sockets : lent;
    ready[0] = lent[0];
    int count = poll(ready, is_listed ? ofi->socket_count : 2, timeout_ms);
    if (is_listed)
        ofi_sockets_rang(ofi);
    if (count > 0 && (ready[0].revents & POLLIN)) {
        clear_kick(ofi);
        count--;
    }
    return count > 0;
}

/* Look until nothing has come for a while: more often follows. Where ranks share cores, others may
 * run in between. */
static unsigned look_for_more(struct ofi_nic *ofi)
{
    unsigned handled = 0;
    int64_t until_ns = clock_now_ns() + LINGER_NS;
    for (int64_t now_ns = 0; now_ns < until_ns; now_ns = clock_now_ns()) {
        ofi_lock(ofi);
        unsigned more = ofi_progress(ofi);
        ofi_unlock(ofi);
        ring_if(ofi, more);
        if (more > 0)
            until_ns = clock_now_ns() + LINGER_NS;
        handled += more;
        shm_inside_rest(ofi->inner);
    }
    return handled;
}

/* Something was there, and yet nothing came of it: a connection, maybe, or data by RMA. Looking for
 * connections costs a system call for each descriptor of the process, which may have thousands. A
 * descriptor that is ready all the time tells nothing, and must not keep us busy. */
static void spurious_wakeup(struct ofi_nic *ofi, unsigned times)
{
    struct pollfd kicked = {.fd = ofi->progress_kick, .events = POLLIN};
    ofi_lock(ofi);
    if (ofi->listener_rings)
        ofi_sockets_changed(ofi);
    else
        ofi_sockets_look_soon(ofi); /* another thread may have answered the listener */
    ofi_unlock(ofi);
    if (times > SPURIOUS_MAX)
        poll(&kicked, 1, POLLING_MS);
}

static void *progress_main(void *context)
{
    struct ofi_nic *ofi = context;
    uint32_t seen = atomic_load(&ofi->program_looks) - 1;
    unsigned spurious = 0;
    while (!atomic_load(&ofi->progress_stop)) {
        uint32_t looks = atomic_load(&ofi->program_looks);
        if (looks != seen && !atomic_exchange(&ofi->progress_wanted, false)) {
            seen = looks;
            park(ofi);
            continue;
        }
        seen = looks;
        bool has_news = sleep_on_network(ofi);
        ofi_lock(ofi);
        unsigned handled = ofi_progress(ofi);
        ofi_unlock(ofi);
        if (handled > 0 || (has_news && spurious <= SPURIOUS_MAX))
            handled += look_for_more(ofi);
        /* what RMA has written raises no event, but the descriptor told that something came */
        ring_if(ofi, handled + has_news);
        spurious = has_news && handled == 0 ? spurious + 1 : 0;
        if (spurious > 0)
            spurious_wakeup(ofi, spurious);
    }
    return NULL;
}

static bool has_pieces(void *context)
{
    struct ofi_nic *ofi = context;
    return atomic_load_explicit(&ofi->piece_count, memory_order_relaxed) > 0;
}

/* Messages are served under the lock; what comes later finds that its claim is gone. */
static void settle(void *context, int rank)
{
    struct ofi_nic *ofi = context;
    ofi_lock(ofi);
    ofi_peer_fail(ofi, rank);
    ofi_unlock(ofi);
}

int ofi_progress_thread_start(struct ofi_nic *ofi)
{
    struct shm_outside outside = {.progress = progress_if_free,
                                  .asleep = thread_sleeps,
                                  .is_busy = has_pieces,
                                  .settle = settle,
                                  .is_slow = ofi_provider_is_slow(ofi->info),
                                  .context = ofi};
    ofi->progress_kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ofi->progress_kick < 0)
        return error_fail(RH_ENOSPACE, "no descriptor for the progress thread");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are not for us */
    int code = pthread_create(&ofi->progress_thread, NULL, progress_main, ofi);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return error_fail(RH_ENOSPACE, "cannot start the progress thread: %s", strerror(code));
    pthread_setname_np(ofi->progress_thread, PROCESS_OWN_THREADS "network");
    ofi->has_progress_thread = true;
    shm_inside_of(ofi->inner, &outside);
    return 0;
}

void ofi_progress_thread_stop(struct ofi_nic *ofi)
{
    if (ofi->has_progress_thread) {
        atomic_store(&ofi->progress_stop, true);
        eventfd_write(ofi->progress_kick, 1);
        pthread_join(ofi->progress_thread, NULL);
        shm_inside_of(ofi->inner, NULL);
    }
    descriptor_close(&ofi->progress_kick);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static int wait_inside(struct ofi_nic *ofi, const struct nic_wait *wait)
{
    return ofi->inner->ops->wait(ofi->inner, wait);
}

int ofi_wait_until(struct ofi_nic *ofi, int rank, bool (*is_met)(void *context), void *context,
                   int64_t timeout_ns)
{
    struct nic_wait wait = {
        .is_met = is_met, .context = context, .from = rank, .timeout_ns = timeout_ns};
    return wait_inside(ofi, &wait);
}

static bool task_is_over(void *context)
{
    return ofi_task_is_over(context);
}

static void describe_task(void *context, struct wait_note *note)
{
    const struct ofi_task *task = context;
    *note = (struct wait_note){
        .call = WAIT_TRANSFER, .peer = task->rank, .number = task->sid, .length = task->length};
}

int ofi_wait_for_task(struct ofi_nic *ofi, struct ofi_task *task, int from, int64_t timeout_ns)
{
    struct nic_wait wait = {.is_met = task_is_over,
                            .describe = describe_task,
                            .context = task,
                            .from = from,
                            .timeout_ns = timeout_ns};
    return wait_inside(ofi, &wait);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC: turns the contract's operations into calls of the rank's station, and waits. Runs in the
 * rank, which may be a fiber of the simulation or another process.
 */
#include "base/error.h"
#include "base/settings.h"
#include "nic/martini/client.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LOOK_NS       100     /* of one look that is in vain */
#define WORD_SLICE_NS 1000000 /* plain stores of other threads ring no bell */
#define MET_SLICE_NS  1000    /* of conditions that only the program knows */
#define SLICE_MOST_NS 16000000

/* An own segment. */
struct martini_segment {
    rh_sid sid;
    enum nic_segment_kind kind;
    char *base;
    uint64_t mapped; /* to unmap; 0: the program's */
    struct martini_queue_cut cut;
    uint64_t head; /* of a queue: messages received */
    struct martini_segment *next;
};

struct martini_nic {
    struct nic nic;
    const struct martini_port *port;
    struct martini_client *client; /* whose port it is; NULL: the world is here */
    pthread_mutex_t lock;          /* of the list */
    struct martini_segment *segments;
    uint64_t segment_count;
    _Atomic uint32_t
        gone_count; /* ranks that have left or died, as far as the roster was waited for */
};

static struct martini_nic *martini_of(struct nic *nic)
{
    return (struct martini_nic *)nic;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void count_refusal(struct nic *nic, int result)
{
    static const struct {
        int code;
        enum counter counter;
    } denials[] = {{RH_ENOSEG, COUNTER_DENIED_SEGMENT},
                   {RH_ESTALE, COUNTER_DENIED_STALE},
                   {RH_EBOUNDS, COUNTER_DENIED_BOUNDS},
                   {RH_ERIGHTS, COUNTER_DENIED_RIGHTS}};
    for (size_t i = 0; i < sizeof(denials) / sizeof(denials[0]); i++) {
        if (denials[i].code == result)
            counter_add_exact(&nic->world->board->counters, denials[i].counter);
    }
}

/* The server may know of an end before the roster does, by a moment. */
#define ROSTER_LATE_MS 2000

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int peer_gone(struct nic *nic, int rank, const char *during)
{
    for (int i = 0; i < ROSTER_LATE_MS && roster_state(nic->world->roster, rank) < RH_PEER_LEFT;
         i++)
        nap();
    return nic_peer_gone(nic, rank, during);
}

static void roster_await(struct martini_nic *martini, uint32_t gone_count)
{
    const struct nic_world *world = martini->nic.world;
    for (int i = 0; i < ROSTER_LATE_MS; i++) {
        uint32_t found = 0;
        for (int rank = 0; rank < world->size; rank++)
            found += roster_state(world->roster, rank) >= RH_PEER_LEFT;
        if (found >= gone_count)
            break;
        nap();
    }
    martini->gone_count = gone_count;
}

/* A call whose refusals count, and whose failure is about call->rank. */
static int ask(struct nic *nic, struct martini_call *call, const char *during)
{
    struct martini_nic *martini = martini_of(nic);
    int result = martini->port->call(martini->port->context, call);
    if (result < 0)
        return result;
    if (call->result == RH_EDEAD)
        return peer_gone(nic, call->rank, during);
    if (call->result < 0)
        count_refusal(nic, call->result);
    return call->result;
}

/* A call that does not fail, or whose failure says enough. */
static int tell(struct nic *nic, struct martini_call *call)
{
    struct martini_nic *martini = martini_of(nic);
    int result = martini->port->call(martini->port->context, call);
    return result < 0 ? result : call->result;
}

static int64_t martini_now_ns(struct nic *nic)
{
    struct martini_call call = {.operation = MARTINI_NOW};
    return tell(nic, &call) < 0 ? INT64_MAX : call.now_ns;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int martini_open(struct nic **nic, struct nic_world *world, const char *inner)
{
    if (inner)
        return error_set(RH_EINVALID, ERROR_NO_RANK, "NIC martini has no other inside: \"%s\"",
                         inner);
    struct martini_nic *made = calloc(1, sizeof(*made));
    if (!made)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for a NIC");
    made->nic.ops = &martini_ops;
    made->nic.world = world;
    made->port = world->port;
    if (!made->port) {
        int result = martini_client_open(&made->client, world);
        if (result < 0) {
            free(made);
            return result;
        }
        made->port = martini_client_port(made->client);
    }
    pthread_mutex_init(&made->lock, NULL);
    *nic = &made->nic;
    return 0;
}

static void martini_close(struct nic *nic)
{
    struct martini_nic *martini = martini_of(nic);
    struct martini_call call = {.operation = MARTINI_LEAVE};
    tell(nic, &call);
    while (martini->segments) {
        struct martini_segment *gone = martini->segments;
        martini->segments = gone->next;
        if (gone->mapped)
            munmap(gone->base, gone->mapped);
        free(gone);
    }
    martini_client_close(martini->client);
    pthread_mutex_destroy(&martini->lock);
    free(martini);
}

/* ---- Segments -------------------------------------------------------------------------------- */

/* Zeroed, and there: touching it cannot fail later. */
static int memory_make(struct martini_segment *segment, uint64_t length)
{
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for a segment of %llu bytes",
                         (unsigned long long)length);
    segment->base = base;
    segment->mapped = length;
    return 0;
}

static int segment_prepare(struct martini_nic *martini, struct martini_segment *made,
                           const struct nic_segment *segment, uint64_t *length)
{
    uint64_t most = setting_number(martini->nic.world->settings, SETTING_SEGMENTS);
    *made = (struct martini_segment){
        .sid = segment->sid, .kind = segment->kind, .base = segment->base};
    *length = segment->length;
    if (martini->segment_count >= most)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK,
                         "there are %llu segments already; RHINET_SEGMENTS allows no more",
                         (unsigned long long)most);
    if (segment->flags & RH_HUGE_PAGES)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "simulated nodes have no huge pages");
    if (segment->kind == NIC_SEGMENT_QUEUE) {
        made->cut = martini_queue_cut(segment->shape);
        *length = made->cut.length;
    }
    if (*length == 0)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "a queue of %u times %u bytes is too large",
                         segment->shape.slot_count, segment->shape.slot_length);
    return segment->kind == NIC_SEGMENT_ATTACHED ? 0 : memory_make(made, *length);
}

static int martini_segment_add(struct nic *nic, struct nic_segment *segment)
{
    struct martini_nic *martini = martini_of(nic);
    struct martini_segment *made = calloc(1, sizeof(*made));
    uint64_t length;
    if (!made)
        return error_set(RH_ENOSPACE, ERROR_NO_RANK, "no memory for a segment");
    int result = segment_prepare(martini, made, segment, &length);
    struct martini_call call = {.operation = MARTINI_SEGMENT_ADD,
                                .sid = segment->sid,
                                .rights = segment->rights,
                                .address = (uintptr_t)made->base,
                                .length = length,
                                .kind = segment->kind,
                                .shape = segment->shape};
    if (result == 0)
        result = tell(nic, &call);
    if (result < 0) {
        if (made->mapped)
            munmap(made->base, made->mapped);
        free(made);
        return result;
    }
    segment->base = made->base;
    pthread_mutex_lock(&martini->lock);
    made->next = martini->segments;
    martini->segments = made;
    martini->segment_count++;
    pthread_mutex_unlock(&martini->lock);
    return 0;
}

static int martini_segment_remove(struct nic *nic, rh_sid sid, int64_t timeout_ns)
{
    struct martini_nic *martini = martini_of(nic);
    struct martini_segment *gone = NULL;
    struct martini_call call = {
        .operation = MARTINI_SEGMENT_REMOVE, .sid = sid, .timeout_ns = timeout_ns};
    int result = tell(nic, &call);
    if (result < 0)
        return result;
    pthread_mutex_lock(&martini->lock);
    for (struct martini_segment **at = &martini->segments; *at; at = &(*at)->next) {
        if ((*at)->sid != sid)
            continue;
        gone = *at;
        *at = gone->next;
        martini->segment_count--;
        break;
    }
    pthread_mutex_unlock(&martini->lock);
    if (gone && gone->mapped)
        munmap(gone->base, gone->mapped);
    free(gone);
    return 0;
}

static int martini_view(struct nic *nic, struct rh_remote remote, uint64_t length, unsigned rights,
                        struct nic_view *view)
{
    struct martini_call call = {.operation = MARTINI_VIEW,
                                .rank = remote.rank,
                                .sid = remote.sid,
                                .offset = remote.offset,
                                .length = length,
                                .rights = rights};
    int result = rights ? ask(nic, &call, "remote access") : tell(nic, &call);
    if (result == RH_EDEAD && !rights)
        return peer_gone(nic, remote.rank, "remote access");
    if (result < 0)
        return result;
    *view = (struct nic_view){.remote = remote,
                              .length = rights ? length : call.length,
                              .kind = (enum nic_segment_kind)call.kind,
                              .handle = (void *)(uintptr_t)call.generation};
    return 0;
}

/* ---- Transfers ------------------------------------------------------------------------------- */

static int transfer(struct nic *nic, struct martini_call *call, const struct nic_extra *extra,
                    const char *during)
{
    if (extra) {
        call->done = extra->done ? (uintptr_t)&extra->done->state : 0;
        call->is_inline = extra->is_inline;
    }
    if (extra && extra->notice) {
        const struct rh_remote *word = &extra->notice->word;
        if (word->offset % 8 != 0)
            return error_set(RH_EINVALID, word->rank,
                             "the notice at %llu is not aligned to 8 bytes",
                             (unsigned long long)word->offset);
        call->notice = (struct martini_notice){.sid = word->sid,
                                               .is_wanted = 1,
                                               .follows = extra->notice->follows_source,
                                               .offset = word->offset,
                                               .value = extra->notice->value};
    }
    return ask(nic, call, during);
}

static int martini_push(struct nic *nic, struct rh_remote target, const void *source, size_t length,
                        const struct nic_extra *extra)
{
    struct martini_call call = {.operation = MARTINI_PUSH,
                                .rank = target.rank,
                                .sid = target.sid,
                                .offset = target.offset,
                                .address = (uintptr_t)source,
                                .length = length};
    return transfer(nic, &call, extra, "push");
}

static int martini_pull(struct nic *nic, struct rh_remote source, void *target, size_t length,
                        const struct nic_extra *extra)
{
    struct martini_call call = {.operation = MARTINI_PULL,
                                .rank = source.rank,
                                .sid = source.sid,
                                .offset = source.offset,
                                .address = (uintptr_t)target,
                                .length = length};
    return transfer(nic, &call, extra, "pull");
}

static int martini_store(struct nic *nic, const struct nic_view *view, uint64_t offset,
                         uint64_t value, unsigned width)
{
    struct martini_call call = {.operation = MARTINI_STORE,
                                .rank = view->remote.rank,
                                .sid = view->remote.sid,
                                .offset = view->remote.offset + offset,
                                .length = width,
                                .generation = (uintptr_t)view->handle,
                                .value = value};
    return ask(nic, &call, "store");
}

static int martini_atomic(struct nic *nic, struct rh_remote target,
                          const struct nic_atomic_operands *operands, uint64_t *old)
{
    struct martini_call call = {.operation = MARTINI_ATOMIC,
                                .rank = target.rank,
                                .sid = target.sid,
                                .offset = target.offset,
                                .operands = *operands};
    if (target.offset % 8 != 0)
        return error_set(RH_EINVALID, target.rank,
                         "an atomic operation at %llu: not 8-byte aligned",
                         (unsigned long long)target.offset);
    int result = ask(nic, &call, "atomic operation");
    if (result == 0)
        *old = call.value;
    return result;
}

static int martini_flush(struct nic *nic, int rank)
{
    struct martini_call call = {.operation = MARTINI_FLUSH, .rank = rank};
    return ask(nic, &call, "flush");
}

static int martini_wake(struct nic *nic, int rank)
{
    struct martini_call call = {.operation = MARTINI_WAKE, .rank = rank};
    return tell(nic, &call);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static int martini_append(struct nic *nic, struct rh_remote queue, const void *data, size_t length,
                          int64_t timeout_ns)
{
    struct martini_call call = {.operation = MARTINI_APPEND,
                                .rank = queue.rank,
                                .sid = queue.sid,
                                .address = (uintptr_t)data,
                                .length = length,
                                .timeout_ns = timeout_ns};
    int result = ask(nic, &call, "append");
    if (call.value)
        counter_add(&nic->world->board->counters, COUNTER_APPEND_FULL, 1);
    return result;
}

static struct martini_segment *queue_of(struct martini_nic *martini, const void *base)
{
    pthread_mutex_lock(&martini->lock);
    struct martini_segment *at = martini->segments;
    while (at && at->base != base)
        at = at->next;
    pthread_mutex_unlock(&martini->lock);
    return at;
}

static uint64_t *long_word(const struct martini_segment *queue)
{
    return (uint64_t *)(void *)(queue->base + queue->cut.table) + queue->head % queue->cut.count;
}

static void long_advance(struct martini_segment *queue)
{
    *long_word(queue) = 0;
    queue->head++;
    __atomic_store_n((uint64_t *)(void *)queue->base + 1, queue->head, __ATOMIC_RELEASE);
}

/* A slot that was claimed by a rank that is gone will never be published. */
static bool long_has_message(struct martini_nic *martini, struct martini_segment *queue)
{
    const struct nic_world *world = martini->nic.world;
    for (;;) {
        uint64_t word = __atomic_load_n(long_word(queue), __ATOMIC_ACQUIRE);
        if (word & MARTINI_PUBLISHED)
            return true;
        int rank = MARTINI_WORD_RANK(word);
        if (!(word & MARTINI_CLAIMED) || rank >= world->size ||
            roster_state(world->roster, rank) < RH_PEER_LEFT)
            return false;
        long_advance(queue);
    }
}

static uint64_t short_word(const struct martini_segment *queue)
{
    const uint64_t *table = (const uint64_t *)(const void *)(queue->base + queue->cut.table);
    uint64_t word = __atomic_load_n(&table[queue->head % queue->cut.count], __ATOMIC_ACQUIRE);
    return word >> 32 == (uint32_t)(queue->head + 1) ? word : 0;
}

static bool queue_has_message(struct martini_nic *martini, struct martini_segment *queue)
{
    return queue->cut.is_long ? long_has_message(martini, queue) : short_word(queue) != 0;
}

/* A look in vain costs time, or a program that looks again and again would stop the clock. */
static void look_in_vain(struct nic *nic)
{
    struct martini_call call = {.operation = MARTINI_PAUSE, .timeout_ns = LOOK_NS};
    tell(nic, &call);
}

static int martini_queue_peek(struct nic *nic, void *memory, struct rh_arrival *arrival)
{
    struct martini_nic *martini = martini_of(nic);
    struct martini_segment *queue = queue_of(martini, memory);
    if (!queue_has_message(martini, queue)) {
        look_in_vain(nic);
        if (!queue_has_message(martini, queue))
            return RH_EAGAIN; /* no text: asked for in loops */
    }
    uint64_t word = queue->cut.is_long ? *long_word(queue) : short_word(queue);
    uint64_t slot = queue->head % queue->cut.count;
    arrival->data = queue->base + queue->cut.slots + slot * queue->cut.stride;
    arrival->length = queue->cut.is_long ? MARTINI_WORD_LENGTH(word) : word & 0xffff;
    arrival->source = queue->cut.is_long ? MARTINI_WORD_RANK(word) : (int)(word >> 16 & 0xffff);
    return 0;
}

static void martini_queue_release(struct nic *nic, void *memory)
{
    struct martini_segment *queue = queue_of(martini_of(nic), memory);
    if (queue->cut.is_long) {
        long_advance(queue);
        return;
    }
    struct martini_call call = {
        .operation = MARTINI_RELEASE, .sid = queue->sid, .value = ++queue->head};
    tell(nic, &call);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static bool is_met(struct martini_nic *martini, const struct nic_wait *wait)
{
    if (wait->word)
        return nic_word_is_met(wait->word, wait->when, wait->value);
    if (wait->is_met)
        return wait->is_met(wait->context);
    if (wait->queue)
        return queue_has_message(martini, queue_of(martini, wait->queue));
    return __atomic_load_n(&wait->done->state, __ATOMIC_ACQUIRE) != 0;
}

/* Until memory changes, but not beyond the deadline. RH_ETIMEOUT: that is reached. */
static int sleep_once(struct nic *nic, const struct nic_wait *wait, int64_t deadline_ns,
                      int64_t slice_ns, int64_t *now_ns)
{
    int64_t left = deadline_ns - *now_ns;
    struct martini_call call = {.operation = MARTINI_PAUSE,
                                .timeout_ns = left < slice_ns ? left : slice_ns};
    if (wait->until && wait->until->reads) {
        call.address = (uintptr_t)wait->until->reads;
        call.length = wait->until->read_stride;
        call.value = wait->until->read_count;
    }
    int result = tell(nic, &call);
    if (result < 0 && result != RH_ETIMEOUT)
        return result;
    *now_ns = call.now_ns;
    if (call.gone != martini_of(nic)->gone_count)
        roster_await(martini_of(nic), call.gone);
    return *now_ns >= deadline_ns ? RH_ETIMEOUT : 0;
}

static int wait_long(struct nic *nic, const struct nic_wait *wait)
{
    struct martini_nic *martini = martini_of(nic);
    int64_t now_ns = nic_now_ns(nic);
    int64_t deadline_ns = wait->timeout_ns > INT64_MAX - now_ns ? INT64_MAX
                                                                : now_ns + wait->timeout_ns;
    int64_t slice_ns = wait->is_met ? MET_SLICE_NS : WORD_SLICE_NS;
    for (;;) {
        if (is_met(martini, wait))
            return 0;
        int result = nic_wait_check(nic, wait->from);
        if (result < 0) /* what a dead peer did before counts */
            return is_met(martini, wait) ? 0 : result;
        result = sleep_once(nic, wait, deadline_ns, slice_ns, &now_ns);
        if (result == RH_ETIMEOUT)
            return is_met(martini, wait)
                       ? 0
                       : error_set(RH_ETIMEOUT, wait->from, "waited %.3g s in vain",
                                   (double)wait->timeout_ns / 1e9);
        if (result < 0)
            return result;
        slice_ns = slice_ns < SLICE_MOST_NS ? 2 * slice_ns : slice_ns;
    }
}

static int martini_wait(struct nic *nic, const struct nic_wait *wait)
{
    struct martini_nic *martini = martini_of(nic);
    if (is_met(martini, wait))
        return 0;
    if (wait->timeout_ns > 0)
        return wait_long(nic, wait);
    look_in_vain(nic);
    if (is_met(martini, wait))
        return 0;
    int result = nic_wait_check(nic, wait->from);
    return result < 0 ? result : RH_EAGAIN;
}

const struct nic_ops martini_ops = {
    .name = "martini",
    .help = "a simulated controller and network, in virtual time",
    .open = martini_open,
    .close = martini_close,
    .segment_add = martini_segment_add,
    .segment_remove = martini_segment_remove,
    .view = martini_view,
    .push = martini_push,
    .pull = martini_pull,
    .store = martini_store,
    .atomic = martini_atomic,
    .append = martini_append,
    .queue_peek = martini_queue_peek,
    .queue_release = martini_queue_release,
    .flush = martini_flush,
    .wait = martini_wait,
    .wake = martini_wake,
    .now_ns = martini_now_ns,
};

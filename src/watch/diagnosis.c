/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See diagnosis.h. All that other processes wrote is copied and checked in diagnosis_take(); the
 * rest works on the copy.
 */
#include "watch/diagnosis.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define LOOKS_MIN 3        /* between the two looks of ours */
#define IDLE_NS   NS_PER_S /* younger waits are nothing to speak of */

/* ---- Taking a look -------------------------------------------------------------------------- */

/* acquire: who has seen part of a newer note sees its turn; pairs with publish() in
 * stall_watch.c */
#define load(field) atomic_load_explicit(&(field), memory_order_acquire)

static bool copy_wait(const struct board_wait *source, struct diagnosis_wait *wait, uint32_t size)
{
    uint32_t turn = load(source->turn);
    uint32_t call = load(source->call);
    int32_t peer = load(source->peer);
    *wait = (struct diagnosis_wait){.note = {.number = load(source->number),
                                             .length = load(source->length),
                                             .moved = load(source->moved)},
                                    .since_ns = load(source->since_ns),
                                    .thread = load(source->thread),
                                    .turn = turn,
                                    .looks = load(source->looks)};
    if (turn % 2 != 0 || load(source->turn) != turn)
        return false;
    if (!wait_spec(call))
        return false;
    wait->note.call = call;
    wait->note.peer = peer >= 0 && (uint32_t)peer < size ? peer : -1;
    return true;
}

/* What has been done to others or taken from them. */
static uint64_t work_of(const struct counters *counters)
{
    uint64_t work = 0;
    for (unsigned i = 0; i < COUNTERS_MAX; i++) {
        const struct counter_spec *spec = counter_spec(i);
        work += spec && spec->is_progress ? counter_read(counters, i) : 0;
    }
    return work;
}

static void copy_board(const struct board_rank *board, struct diagnosis_rank *rank, uint32_t size)
{
    rank->work = work_of(&board->counters);
    for (int i = 0; i < BOARD_WAITS; i++) {
        struct diagnosis_wait *wait = &rank->wait[rank->wait_count];
        if (copy_wait(&board->wait[i], wait, size)) {
            wait->place = i;
            rank->wait_count++;
        }
    }
    for (int i = 0; i < BOARD_GROUPS - 1; i++) {
        rank->group[i] = (struct diagnosis_group){.key = load(board->group[i].key),
                                                  .size = load(board->group[i].size),
                                                  .entered = load(board->group[i].entered)};
    }
}

/* A wait of the rank in the same queue. */
static const struct diagnosis_wait *find_queued(const struct diagnosis *diagnosis, int rank,
                                                const struct wait_note *note)
{
    const struct diagnosis_rank *other = &diagnosis->rank[rank];
    for (unsigned i = 0; i < other->wait_count; i++) {
        if (other->wait[i].note.call == note->call && other->wait[i].note.number == note->number)
            return &other->wait[i];
    }
    return NULL;
}

/* Each who queues says who is before it; the first that waits for nobody is the holder. */
static int holder_of(const struct diagnosis *diagnosis, const struct diagnosis_wait *wait)
{
    int rank = wait->note.peer;
    for (uint32_t steps = 0; rank >= 0 && steps < diagnosis->size; steps++) {
        const struct diagnosis_wait *before = find_queued(diagnosis, rank, &wait->note);
        if (!before)
            return rank;
        rank = before->note.peer;
    }
    return -1; /* the queue is changing while we look */
}

static void find_holders(struct diagnosis *diagnosis)
{
    int *holder = calloc(diagnosis->size, sizeof(int) * BOARD_WAITS);
    for (int pass = 0; holder && pass < 2; pass++) { /* all are found before any is written */
        for (uint32_t r = 0; r < diagnosis->size; r++) {
            for (unsigned i = 0; i < diagnosis->rank[r].wait_count; i++) {
                struct diagnosis_wait *wait = &diagnosis->rank[r].wait[i];
                if (wait_spec(wait->note.call)->on != WAIT_ON_HOLDER)
                    continue;
                if (pass == 0)
                    holder[r * BOARD_WAITS + i] = holder_of(diagnosis, wait);
                else
                    wait->note.peer = holder[r * BOARD_WAITS + i];
            }
        }
    }
    free(holder);
}

/* What was told long ago is not true any more. */
static void copy_told(const struct board_told *told, struct diagnosis_rank *rank)
{
    uint32_t state = load(told->process_state);
    rank->told_ns = load(told->at_ns);
    rank->is_seen = rank->told_ns > 0 && clock_now_ns() - rank->told_ns < DIAGNOSIS_TOLD_NS;
    rank->process.state = state > PROCESS_ENDED ? PROCESS_UNKNOWN : (enum process_state)state;
    rank->process.thread_count = load(told->thread_count);
    if (!rank->is_seen) {
        rank->work = 0;
        rank->wait_count = 0;
        rank->process = (struct process_look){0};
        memset(rank->group, 0, sizeof(rank->group));
    }
}

/* The roster may be anybody's memory: node numbers are checked, names are cut. */
static void copy_host(const struct roster *roster, int which, struct diagnosis_rank *rank,
                      uint32_t size)
{
    int node = roster->peer[which].node;
    if (node == roster->own_node || node < 0 || (uint32_t)node >= size)
        return;
    const struct roster_node *nodes = (const struct roster_node *)&roster->peer[size];
    memcpy(rank->host, nodes[node].host, sizeof(rank->host) - 1);
    if (rank->host[0] == '\0')
        rank->host[0] = '?';
}

struct diagnosis *diagnosis_take(const struct roster *roster, const struct board_rank *boards,
                                 uint32_t size)
{
    struct diagnosis *diagnosis = calloc(1, sizeof(*diagnosis) + size * sizeof(diagnosis->rank[0]));
    if (!diagnosis)
        return NULL;
    diagnosis->size = size;
    diagnosis->is_open = roster->is_open != 0;
    for (uint32_t i = 0; i < size; i++) {
        struct diagnosis_rank *rank = &diagnosis->rank[i];
        uint32_t state = load(roster->peer[i].state);
        rank->state = state > RH_PEER_DIED ? RH_PEER_DIED : (enum rh_peer_state)state;
        rank->pid = load(roster->peer[i].pid);
        rank->end_signal = load(roster->peer[i].end_signal);
        rank->end_status = load(roster->peer[i].end_status);
        copy_host(roster, (int)i, rank, size);
        rank->is_seen = rank->host[0] == '\0';
        if (!boards || rank->state != RH_PEER_JOINED)
            continue;
        copy_board(&boards[i], rank, size);
        if (!rank->is_seen)
            copy_told(&boards[i].told, rank);
    }
    diagnosis->now_ns = clock_now_ns();
    find_holders(diagnosis);
    return diagnosis;
}

void diagnosis_look(struct diagnosis *diagnosis, int rank)
{
    struct diagnosis_rank *looked = &diagnosis->rank[rank];
    if (looked->state < RH_PEER_LEFT && looked->host[0] == '\0')
        looked->process = process_look(looked->pid);
}

/* ---- Who depends on whom -------------------------------------------------------------------- */

const struct diagnosis_group *diagnosis_group(const struct diagnosis_rank *rank, uint64_t id)
{
    for (int i = 0; i < BOARD_GROUPS - 1; i++) {
        if (rank->group[i].key != 0 && rank->group[i].key - 1 == id)
            return &rank->group[i];
    }
    return NULL;
}

/* A member of the group who has not come as far. Who has not joined the group is known to be a
 * member only if all ranks are, or if the wait says so. */
static bool is_missing(const struct diagnosis *diagnosis, int rank, const struct wait_note *note,
                       int other)
{
    const struct diagnosis_group *own = diagnosis_group(&diagnosis->rank[rank], note->number);
    const struct diagnosis_group *theirs = diagnosis_group(&diagnosis->rank[other], note->number);
    if (other == rank || diagnosis->rank[other].state >= RH_PEER_LEFT)
        return false;
    if (theirs)
        return theirs->entered < note->length;
    return other == note->peer || (own && own->size == diagnosis->size);
}

static bool is_of_all(const struct wait_note *note)
{
    return wait_spec(note->call)->on == WAIT_ON_GROUP;
}

bool diagnosis_is_directed(const struct diagnosis_wait *wait)
{
    return wait->note.peer >= 0 || is_of_all(&wait->note);
}

bool diagnosis_depends(const struct diagnosis *diagnosis, int rank,
                       const struct diagnosis_wait *wait, int other)
{
    if (is_of_all(&wait->note))
        return is_missing(diagnosis, rank, &wait->note, other);
    return wait->note.peer >= 0 ? wait->note.peer == other : other != rank;
}

/* ---- Judging -------------------------------------------------------------------------------- */

static bool same_wait(const struct diagnosis_wait *a, const struct diagnosis_wait *b)
{
    return a->place == b->place && a->turn == b->turn && a->since_ns == b->since_ns &&
           wait_note_is_same(&a->note, &b->note);
}

/* The same wait in the earlier look, if it is old enough to matter and its rank has done nothing
 * since, else NULL. */
static const struct diagnosis_wait *find_before(const struct diagnosis *now,
                                                const struct diagnosis_wait *wait, uint64_t work,
                                                const struct diagnosis_rank *before)
{
    if (now->now_ns - wait->since_ns < IDLE_NS || work != before->work)
        return NULL;
    for (unsigned i = 0; i < before->wait_count; i++) {
        if (same_wait(wait, &before->wait[i]))
            return &before->wait[i];
    }
    return NULL;
}

/* Whether nothing but another rank can make this one go on. A program with more threads than we see
 * waiting may help itself. */
static bool is_at_others_mercy(const struct diagnosis_rank *rank)
{
    if (rank->state != RH_PEER_JOINED || rank->wait_count == 0)
        return false;
    if (rank->process.state != PROCESS_RUNNING && rank->process.state != PROCESS_SLEEPING)
        return false; /* stopped is another story */
    for (unsigned i = 0; i < rank->wait_count; i++) {
        if (!rank->wait[i].is_idle)
            return false;
    }
    return rank->process.thread_count <= rank->wait_count;
}

/* In an open job the one that is waited for may still come. */
static bool may_come(const struct diagnosis *diagnosis, const struct diagnosis_wait *wait)
{
    int peer = wait->note.peer;
    return diagnosis->is_open && !is_of_all(&wait->note) &&
           (peer < 0 || diagnosis->rank[peer].state == RH_PEER_STARTING);
}

/* A wait for one rank or any ends if one of them moves on, a wait for all only if all do. A wait
 * for a rank that is gone ends with an error; but the gone send no messages to those who wait for
 * any. */
static bool can_end(const struct diagnosis *diagnosis, int rank, const struct diagnosis_wait *wait)
{
    bool of_all = is_of_all(&wait->note);
    if (may_come(diagnosis, wait))
        return true;
    for (uint32_t other = 0; other < diagnosis->size; other++) {
        const struct diagnosis_rank *them = &diagnosis->rank[other];
        if (!diagnosis_depends(diagnosis, rank, wait, (int)other))
            continue;
        bool is_gone = them->state >= RH_PEER_LEFT;
        bool helps = is_gone ? diagnosis_is_directed(wait) : !them->is_deadlocked;
        if (helps != of_all)
            return helps;
    }
    return of_all;
}

/* At first all who are idle are taken for deadlocked; those whom somebody can help are let go,
 * until nobody is left to let go. */
static void find_deadlock(struct diagnosis *diagnosis)
{
    for (uint32_t r = 0; r < diagnosis->size; r++)
        diagnosis->rank[r].is_deadlocked = is_at_others_mercy(&diagnosis->rank[r]);
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (uint32_t r = 0; r < diagnosis->size; r++) {
            struct diagnosis_rank *rank = &diagnosis->rank[r];
            for (unsigned i = 0; rank->is_deadlocked && i < rank->wait_count; i++) {
                if (can_end(diagnosis, (int)r, &rank->wait[i])) {
                    rank->is_deadlocked = false;
                    has_changed = true;
                }
            }
        }
    }
}

bool diagnosis_judge(struct diagnosis *now, const struct diagnosis *before)
{
    bool is_certain = true;
    if (!before || before->size != now->size)
        return false;
    for (uint32_t r = 0; r < now->size; r++) {
        for (unsigned i = 0; i < now->rank[r].wait_count; i++) {
            struct diagnosis_wait *wait = &now->rank[r].wait[i];
            const struct diagnosis_wait *same = find_before(now, wait, now->rank[r].work,
                                                            &before->rank[r]);
            wait->is_idle = same && wait->looks - same->looks >= LOOKS_MIN;
            is_certain = is_certain && (!same || wait->is_idle);
        }
    }
    find_deadlock(now);
    return is_certain;
}

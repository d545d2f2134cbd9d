/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See stall_watch.h. A wait that ends while it polls never comes here.
 */
#include "watch/stall_watch.h"

#include "base/assert.h"
#include "base/deadline.h"
#include "base/log.h"
#include "watch/diagnosis.h"

#include <stdlib.h>
#include <unistd.h>

#define LOOK_AT_ALL_MAX 256 /* ranks of a job of which every process is looked at */
#define TARGETS_MAX     3   /* ranks of which a report says what they do */
#define TRIES_MAX       4   /* to be certain of what it says */

/* ---- The note on the board ------------------------------------------------------------------ */

static struct board_wait *take_place(struct board_rank *board)
{
    for (int i = 0; i < BOARD_WAITS; i++) {
        if (!atomic_exchange(&board->wait[i].is_taken, 1))
            return &board->wait[i];
    }
    return NULL; /* more threads wait than the board has room for */
}

/* release: who sees a field sees the odd turn before it; pairs with copy_wait() in diagnosis.c */
#define store(field, value) atomic_store_explicit(&(field), (value), memory_order_release)

/* The turn is odd meanwhile. */
static void publish(struct board_wait *place, const struct wait_note *note, int64_t since_ns)
{
    uint32_t turn = atomic_load_explicit(&place->turn, memory_order_relaxed);
    store(place->turn, turn + 1);
    store(place->call, note->call);
    store(place->peer, note->peer);
    store(place->number, note->number);
    store(place->length, note->length);
    store(place->moved, note->moved);
    store(place->since_ns, since_ns);
    store(place->turn, turn + 2);
}

static void begin(struct stall_watch *stall)
{
    int64_t stuck_ns = stall->job->stuck_ns;
    stall->is_kept = true;
    stall->report_ns = stuck_ns > 0 ? deadline_after_ns(stall->since_ns, stuck_ns) : DEADLINE_NEVER;
    stall->place = take_place(stall->job->board);
    if (stall->place)
        store(stall->place->thread, (int32_t)gettid());
}

/* ---- The report ----------------------------------------------------------------------------- */

static const struct diagnosis_wait *find_own(const struct stall_watch *stall,
                                             const struct diagnosis *now, int rank)
{
    const struct diagnosis_rank *own = &now->rank[rank];
    for (unsigned i = 0; i < own->wait_count; i++) {
        if (&stall->job->board->wait[own->wait[i].place] == stall->place)
            return &own->wait[i];
    }
    return NULL;
}

/* Processes are asked for only where that matters: in a large job all ranks may be stuck and report
 * at the same time. */
static void look_at_processes(struct diagnosis *now, int rank, const struct diagnosis_wait *own)
{
    for (uint32_t other = 0, looked = 0; other < now->size; other++) {
        bool matters = diagnosis_is_directed(own) &&
                       diagnosis_depends(now, rank, own, (int)other) && looked < TARGETS_MAX;
        looked += matters;
        if (matters || now->size <= LOOK_AT_ALL_MAX)
            diagnosis_look(now, (int)other);
    }
}

static void add_targets(struct diagnosis_text *line, const struct diagnosis *now, int rank,
                        const struct diagnosis_wait *own)
{
    unsigned told = 0;
    for (uint32_t other = 0; other < now->size && told < TARGETS_MAX; other++) {
        if ((int)other == rank || !diagnosis_depends(now, rank, own, (int)other))
            continue;
        diagnosis_add(line, "; rank %u ", other);
        diagnosis_state_add(line, now, (int)other, true);
        told++;
    }
}

/* False: not yet, another look may tell more. */
static bool report(struct stall_watch *stall, struct diagnosis *now)
{
    int rank = stall->job->rank;
    const struct diagnosis_wait *own = find_own(stall, now, rank);
    struct diagnosis_text line = {.used = 0};
    if (!own)
        return true; /* no room on the board: other threads of this rank speak for it */
    look_at_processes(now, rank, own);
    if (!diagnosis_judge(now, stall->before) && ++stall->tries < TRIES_MAX)
        return false;
    diagnosis_add(&line, "rank %d has waited ", rank);
    diagnosis_age_add(&line, diagnosis_age_s(now, own));
    diagnosis_add(&line, " in ");
    diagnosis_wait_add(&line, now, rank, own);
    if (diagnosis_is_directed(own))
        add_targets(&line, now, rank, own);
    if (now->rank[rank].is_deadlocked) {
        diagnosis_add(&line, "; deadlock: ");
        diagnosis_circle_add(&line, now, rank);
    }
    log_warning("%s (`rhinet doctor %llx` shows all ranks)", line.text,
                (unsigned long long)stall->job->roster->job_id);
    return true;
}

/* Two looks, as diagnosis.h asks for, between two sleeps of this wait each. */
static void report_when_due(struct stall_watch *stall, int64_t now_ns)
{
    const struct roster *roster = stall->job->roster;
    struct diagnosis *now = diagnosis_take(roster, stall->job->boards, roster->size);
    if (!stall->before) {
        stall->before = now;
        stall->report_ns = now ? now_ns + DIAGNOSIS_APART_NS : INT64_MAX;
        return;
    }
    bool is_over = !now || report(stall, now);
    free(now);
    stall->report_ns = is_over ? INT64_MAX : now_ns + DIAGNOSIS_APART_NS; /* once is enough */
    if (!is_over)
        return;
    free(stall->before);
    stall->before = NULL;
}

void stall_watch_keep(struct stall_watch *stall, int64_t now_ns)
{
    struct wait_note note = {.call = BOARD_NOTHING, .peer = -1};
    bool is_new = !stall->is_kept;
    if (is_new)
        begin(stall);
    stall->describe(stall->context, &note);
    ASSERT(wait_spec(note.call)); /* or nobody would see it */
    if (stall->place && (is_new || !wait_note_is_same(&note, &stall->note)))
        publish(stall->place, &note, stall->since_ns);
    stall->note = note;
    if (stall->place)
        atomic_fetch_add_explicit(&stall->place->looks, 1, memory_order_relaxed);
    if (now_ns >= stall->report_ns)
        report_when_due(stall, now_ns);
}

void stall_watch_end(struct stall_watch *stall)
{
    static const struct wait_note nothing = {.call = BOARD_NOTHING};
    if (!stall->is_kept)
        return;
    free(stall->before);
    if (stall->place) {
        publish(stall->place, &nothing, 0);
        atomic_store_explicit(&stall->place->is_taken, 0, memory_order_release);
    }
    stall->is_kept = false;
}

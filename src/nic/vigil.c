/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits that take long: put on the board, where `rhinet doctor` finds them, and reported once on
 * stderr when they are as old as RHINET_STUCK. Same for every NIC. A wait that ends while it polls
 * never comes here.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "nic/diagnosis.h"
#include "nic/nic.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_AT_ALL_MOST 256 /* ranks of a job of which every process is looked at */
#define TARGETS_MOST     3   /* ranks of which a report says what they do */
#define TRIES_MOST       4   /* to be certain of what it says */

/* ---- The note on the board ------------------------------------------------------------------ */

void nic_wait_describe(const struct nic_wait *wait, struct wait_note *note)
{
    *note = (struct wait_note){.call = BOARD_UNTIL, .peer = wait->from};
    if (wait->word) {
        note->call = BOARD_WORD;
        note->number = wait->value;
        note->length = wait->when;
        note->moved = __atomic_load_n(wait->word, __ATOMIC_RELAXED);
    } else if (wait->done) {
        note->call = BOARD_DONE;
    } else if (wait->queue) {
        note->call = BOARD_QUEUE;
    }
}

int nic_wait_late(const struct nic_wait *wait, const char *hint)
{
    struct diagnosis_text line = {.used = 0};
    struct wait_note note;
    nic_wait_describe(wait, &note);
    if (wait->describe)
        wait->describe(wait->context, &note);
    diagnosis_add_note(&line, &note);
    return error_set(RH_ETIMEOUT, wait->from, "waited %.3g s in %s%s",
                     (double)wait->timeout_ns / NS_PER_S, line.text, hint);
}

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
    store(place->call, (uint32_t)note->call);
    store(place->peer, note->peer);
    store(place->number, note->number);
    store(place->length, note->length);
    store(place->moved, note->moved);
    store(place->since_ns, since_ns);
    store(place->turn, turn + 2);
}

static bool is_same(const struct wait_note *a, const struct wait_note *b)
{
    return a->call == b->call && a->peer == b->peer && a->number == b->number &&
           a->length == b->length && a->moved == b->moved;
}

static void begin(struct nic_vigil *vigil)
{
    const struct nic_world *world = vigil->nic->world;
    int64_t stuck_ns = world->settings ? (int64_t)setting_number(world->settings, SETTING_STUCK)
                                       : 0;
    vigil->is_kept = true;
    vigil->report_ns = stuck_ns > 0 ? deadline_after_ns(vigil->since_ns, stuck_ns) : DEADLINE_NEVER;
    vigil->place = take_place(world->board);
    if (vigil->place)
        store(vigil->place->thread, (int32_t)gettid());
}

/* ---- The report ----------------------------------------------------------------------------- */

static struct diagnosis *take_look(const struct nic_world *world)
{
    return diagnosis_take(world->roster, world->boards, (uint32_t)world->size);
}

static const struct diagnosis_wait *find_own(const struct nic_vigil *vigil,
                                             const struct diagnosis *now, int rank)
{
    const struct diagnosis_rank *own = &now->rank[rank];
    for (unsigned i = 0; i < own->wait_count; i++) {
        if (&vigil->nic->world->board->wait[own->wait[i].place] == vigil->place)
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
                       diagnosis_depends(now, rank, own, (int)other) && looked < TARGETS_MOST;
        looked += matters;
        if (matters || now->size <= LOOK_AT_ALL_MOST)
            diagnosis_look(now, (int)other);
    }
}

static void add_targets(struct diagnosis_text *line, const struct diagnosis *now, int rank,
                        const struct diagnosis_wait *own)
{
    unsigned told = 0;
    for (uint32_t other = 0; other < now->size && told < TARGETS_MOST; other++) {
        if ((int)other == rank || !diagnosis_depends(now, rank, own, (int)other))
            continue;
        diagnosis_add(line, "; rank %u ", other);
        diagnosis_add_state(line, now, (int)other, true);
        told++;
    }
}

/* False: not yet, another look may tell more. */
static bool report(struct nic_vigil *vigil, struct diagnosis *now)
{
    int rank = vigil->nic->world->rank;
    const struct diagnosis_wait *own = find_own(vigil, now, rank);
    struct diagnosis_text line = {.used = 0};
    if (!own)
        return true; /* no room on the board: other threads of this rank speak for it */
    look_at_processes(now, rank, own);
    if (!diagnosis_judge(now, vigil->before) && ++vigil->tries < TRIES_MOST)
        return false;
    diagnosis_add(&line, "rank %d has waited ", rank);
    diagnosis_add_age(&line, diagnosis_age_s(now, own));
    diagnosis_add(&line, " in ");
    diagnosis_add_wait(&line, now, rank, own);
    if (diagnosis_is_directed(own))
        add_targets(&line, now, rank, own);
    if (now->rank[rank].is_deadlocked) {
        diagnosis_add(&line, "; deadlock: ");
        diagnosis_add_circle(&line, now, rank);
    }
    log_warning("%s (`rhinet doctor %llx` shows all ranks)", line.text,
                (unsigned long long)vigil->nic->world->job_id);
    return true;
}

/* Two looks, as diagnosis.h asks for, between two sleeps of this wait each. */
static void report_when_due(struct nic_vigil *vigil, int64_t now_ns)
{
    const struct nic_world *world = vigil->nic->world;
    struct diagnosis *now = take_look(world);
    if (!vigil->before) {
        vigil->before = now;
        vigil->report_ns = now ? now_ns + DIAGNOSIS_APART_NS : INT64_MAX;
        return;
    }
    bool is_over = !now || report(vigil, now);
    free(now);
    vigil->report_ns = is_over ? INT64_MAX : now_ns + DIAGNOSIS_APART_NS; /* once is enough */
    if (!is_over)
        return;
    free(vigil->before);
    vigil->before = NULL;
}

void nic_vigil_keep(struct nic_vigil *vigil, int64_t now_ns)
{
    struct wait_note note = {.call = BOARD_UNTIL, .peer = RH_ANY_RANK};
    bool is_new = !vigil->is_kept;
    if (is_new)
        begin(vigil);
    vigil->describe(vigil->context, &note);
    if (vigil->place && (is_new || !is_same(&note, &vigil->note)))
        publish(vigil->place, &note, vigil->since_ns);
    vigil->note = note;
    if (vigil->place)
        atomic_fetch_add_explicit(&vigil->place->looks, 1, memory_order_relaxed);
    if (now_ns >= vigil->report_ns)
        report_when_due(vigil, now_ns);
}

void nic_vigil_end(struct nic_vigil *vigil)
{
    static const struct wait_note nothing = {.call = BOARD_NOTHING};
    if (!vigil->is_kept)
        return;
    free(vigil->before);
    if (vigil->place) {
        publish(vigil->place, &nothing, 0);
        atomic_store_explicit(&vigil->place->is_taken, 0, memory_order_release);
    }
    vigil->is_kept = false;
}

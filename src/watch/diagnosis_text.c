/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A diagnosis in words. The same words in `rhinet doctor` and in what a stuck rank says by itself.
 */
#include "watch/diagnosis.h"

#include <inttypes.h>
#include <rhinet/rma.h>
#include <stdarg.h>
#include <stdio.h>

#define NAMES_MOST  8 /* ranks listed before "and 5 more" */
#define CIRCLE_MOST 8

void diagnosis_add(struct diagnosis_text *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format,
                          arguments);
    va_end(arguments);
    line->used += added > 0 ? (size_t)added : 0;
    if (line->used >= sizeof(line->text))
        line->used = sizeof(line->text) - 1;
}

void diagnosis_add_age(struct diagnosis_text *line, double age_s)
{
    diagnosis_add(line, "%.*f s", age_s < 10 ? 1 : 0, age_s);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

const char *diagnosis_call_name(enum board_call call)
{
    static const char *const names[BOARD_CALL_COUNT] = {
        [BOARD_NOTHING] = "nothing", [BOARD_WORD] = "word",
        [BOARD_UNTIL] = "until",     [BOARD_DONE] = "done",
        [BOARD_SEGMENT] = "segment", [BOARD_TRANSFER] = "transfer",
        [BOARD_DETACH] = "detach",   [BOARD_APPEND] = "append",
        [BOARD_QUEUE] = "queue",     [BOARD_SEND] = "send",
        [BOARD_RECEIVE] = "receive", [BOARD_REQUESTS] = "requests",
        [BOARD_PROBE] = "probe",     [BOARD_LOCK] = "lock",
        [BOARD_BARRIER] = "barrier", [BOARD_COLLECTIVE] = "collective",
        [BOARD_DSM] = "variable",
    };
    return names[call];
}

static void add_peer(struct diagnosis_text *line, const char *before, int peer)
{
    if (peer < 0)
        diagnosis_add(line, "%s any rank", before);
    else
        diagnosis_add(line, "%s rank %d", before, peer);
}

static void add_tag(struct diagnosis_text *line, uint64_t number)
{
    if ((int64_t)number < 0)
        diagnosis_add(line, ", any tag");
    else
        diagnosis_add(line, ", tag %" PRIu64, number);
}

static void add_word(struct diagnosis_text *line, const struct wait_note *note)
{
    const char *wanted = note->length == RH_NOT_EQUAL  ? "something else than"
                         : note->length == RH_AT_LEAST ? "at least"
                                                       : "exactly";
    add_peer(line, "rh_wait_word from", note->peer);
    diagnosis_add(line, ", word is %" PRIu64 " and should be %s %" PRIu64, note->moved, wanted,
                  note->number);
}

static void add_transfer(struct diagnosis_text *line, const struct wait_note *note)
{
    switch (note->call) {
    case BOARD_SEGMENT:
        if (note->number >= RH_SID_RESERVED)
            diagnosis_add(line, "rh_segment_wait for the mailbox of rank %d", note->peer);
        else
            diagnosis_add(line, "rh_segment_wait for segment %" PRIu64 " of rank %d", note->number,
                          note->peer);
        return;
    case BOARD_TRANSFER:
        diagnosis_add(line, "copy of %" PRIu64 " bytes of segment %" PRIu64 " by rank %d",
                      note->length, note->number, note->peer);
        return;
    case BOARD_DETACH:
        diagnosis_add(line, "detach of segment %" PRIu64 ", which rank %d is copying", note->number,
                      note->peer);
        return;
    case BOARD_APPEND:
        diagnosis_add(line, "append to queue %" PRIu64 " of rank %d, which is full", note->number,
                      note->peer);
        return;
    default:
        diagnosis_add(line, "rh_queue_next of queue %" PRIu64 ", which is empty", note->number);
    }
}

static void add_message(struct diagnosis_text *line, const struct wait_note *note)
{
    switch (note->call) {
    case BOARD_SEND:
        diagnosis_add(line, "send to rank %d", note->peer);
        break;
    case BOARD_PROBE:
        add_peer(line, "probe for a message from", note->peer);
        break;
    default:
        add_peer(line, "receive from", note->peer);
    }
    add_tag(line, note->number);
    if (note->call == BOARD_SEND)
        diagnosis_add(line, ", %" PRIu64 " bytes", note->length);
    if (note->moved > 0)
        diagnosis_add(line, ", %" PRIu64 " moved", note->moved);
}

/* ---- Several ranks -------------------------------------------------------------------------- */

/* Members of a set that have never been heard of: they have not made it yet. */
static unsigned unknown_members(const struct diagnosis *diagnosis, int rank,
                                const struct wait_note *note)
{
    unsigned known = note->peer >= 0, size = 0; /* a peer is one who has not made the set */
    for (uint32_t r = 0; r < diagnosis->size; r++) {
        for (int i = 0; i < BOARD_SETS - 1; i++) {
            const struct diagnosis_set *set = &diagnosis->rank[r].set[i];
            if (set->key == 0 || set->key - 1 != note->number)
                continue;
            known++;
            size = (int)r == rank ? set->size : size;
        }
    }
    return size < diagnosis->size && size > known ? size - known : 0;
}

static void add_missing(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
                        const struct diagnosis_wait *wait)
{
    unsigned count = 0;
    for (uint32_t other = 0; other < diagnosis->size; other++)
        count += diagnosis_depends(diagnosis, rank, wait, (int)other);
    unsigned listed = 0;
    for (uint32_t other = 0; other < diagnosis->size && listed < NAMES_MOST; other++) {
        if (!diagnosis_depends(diagnosis, rank, wait, (int)other))
            continue;
        diagnosis_add(line, "%s%u",
                      listed > 0   ? ", "
                      : count == 1 ? ", missing rank "
                                   : ", missing ranks ",
                      other);
        listed++;
    }
    if (count > listed)
        diagnosis_add(line, " and %u more", count - listed);
    unsigned unknown = unknown_members(diagnosis, rank, &wait->note);
    if (unknown > 0)
        diagnosis_add(line, "%s %u that ha%s not made the set", count > 0 ? " and" : ", missing",
                      unknown, unknown == 1 ? "s" : "ve");
}

void diagnosis_add_note(struct diagnosis_text *line, const struct wait_note *note)
{
    switch (note->call) {
    case BOARD_WORD:
        add_word(line, note);
        break;
    case BOARD_UNTIL:
        add_peer(line, "rh_wait_until from", note->peer);
        break;
    case BOARD_DONE:
        add_peer(line, "rh_wait_done from", note->peer);
        break;
    case BOARD_SEND:
    case BOARD_RECEIVE:
    case BOARD_PROBE:
        add_message(line, note);
        break;
    case BOARD_REQUESTS:
        diagnosis_add(line, "rh_wait_any of %" PRIu64 " requests", note->number);
        break;
    case BOARD_LOCK:
        diagnosis_add(line, "lock %" PRIu64, note->number);
        if (note->peer >= 0)
            diagnosis_add(line, ", held by rank %d", note->peer);
        break;
    case BOARD_DSM:
        diagnosis_add(line, "variable %" PRIu64, note->number);
        if (note->peer >= 0)
            diagnosis_add(line, ", held by rank %d", note->peer);
        break;
    case BOARD_BARRIER:
    case BOARD_COLLECTIVE:
        diagnosis_add(line, "%s of set %" PRIu64, diagnosis_call_name(note->call), note->number);
        break;
    default:
        add_transfer(line, note);
    }
}

void diagnosis_add_wait(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
                        const struct diagnosis_wait *wait)
{
    diagnosis_add_note(line, &wait->note);
    if (wait->note.call == BOARD_BARRIER || wait->note.call == BOARD_COLLECTIVE)
        add_missing(line, diagnosis, rank, wait);
}

/* ---- Ranks ---------------------------------------------------------------------------------- */

static void add_process(struct diagnosis_text *line, const struct diagnosis_rank *rank)
{
    switch (rank->process.state) {
    case PROCESS_RUNNING:
        diagnosis_add(line, "computes");
        return;
    case PROCESS_SLEEPING:
        diagnosis_add(line, "sleeps outside rhinet%s%s", rank->process.where[0] ? ", in " : "",
                      rank->process.where);
        return;
    case PROCESS_ENDED:
        diagnosis_add(line, "is ending");
        return;
    default:
        diagnosis_add(line, "waits for nobody");
    }
}

static void add_end(struct diagnosis_text *line, const struct diagnosis_rank *rank)
{
    if (rank->state == RH_PEER_LEFT)
        diagnosis_add(line, "has left the job");
    else if (rank->end_signal)
        diagnosis_add(line, "has died (signal %d)", rank->end_signal);
    else if (rank->end_status == ROSTER_END_HOST)
        diagnosis_add(line, "was on host %s, which does not answer", rank->host);
    else if (rank->end_status == ROSTER_END_UNKNOWN)
        diagnosis_add(line, "has ended without leaving the job");
    else
        diagnosis_add(line, "has died (exit status %d)", rank->end_status);
}

void diagnosis_add_state(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
                         bool with_pid)
{
    const struct diagnosis_rank *them = &diagnosis->rank[rank];
    bool is_stopped = them->process.state == PROCESS_STOPPED;
    if (them->state >= RH_PEER_LEFT) {
        add_end(line, them);
        return;
    }
    if (is_stopped)
        diagnosis_add(line, "is stopped");
    else if (them->state == RH_PEER_STARTING)
        diagnosis_add(line, "has not joined yet");
    else if (!them->is_seen)
        diagnosis_add(line, "runs on host %s, which is not seen from here", them->host);
    else if (them->wait_count == 0)
        add_process(line, them);
    for (unsigned i = 0; i < them->wait_count; i++) {
        diagnosis_add(line, i > 0 ? " and in " : is_stopped ? " in " : "waits in ");
        diagnosis_add_wait(line, diagnosis, rank, &them->wait[i]);
    }
    if (them->host[0] && them->is_seen)
        diagnosis_add(line, " (on host %s)", them->host);
    else if (with_pid && them->host[0] == '\0')
        diagnosis_add(line, " (pid %d)", them->pid);
}

/* ---- Circles -------------------------------------------------------------------------------- */

/* The first deadlocked rank that this one waits for, or -1. */
static int next_in_circle(const struct diagnosis *diagnosis, int rank)
{
    const struct diagnosis_rank *them = &diagnosis->rank[rank];
    for (uint32_t other = 0; other < diagnosis->size; other++) {
        for (unsigned i = 0; i < them->wait_count; i++) {
            if (diagnosis->rank[other].is_deadlocked &&
                diagnosis_depends(diagnosis, rank, &them->wait[i], (int)other))
                return (int)other;
        }
    }
    return -1;
}

void diagnosis_add_circle(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank)
{
    for (uint32_t steps = 0; steps < diagnosis->size; steps++) { /* afterwards we are in it */
        int next = next_in_circle(diagnosis, rank);
        if (next < 0) {
            diagnosis_add(line, "%d waits for any rank, but nobody is left to come", rank);
            return;
        }
        rank = next;
    }
    int first = rank;
    for (int at = next_in_circle(diagnosis, rank); at != rank; at = next_in_circle(diagnosis, at))
        first = at < first ? at : first;
    int at = first;
    for (unsigned steps = 0; steps == 0 || at != first; steps++) {
        int next = next_in_circle(diagnosis, at);
        if (steps >= CIRCLE_MOST) {
            diagnosis_add(line, ", and so on back to %d", first);
            return;
        }
        if (next == at)
            diagnosis_add(line, "%d waits for itself", at);
        else
            diagnosis_add(line, "%s%d waits for %d", steps > 0 ? ", " : "", at, next);
        at = next;
    }
}

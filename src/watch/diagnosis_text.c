/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A diagnosis in words. The same words in `rhinet doctor` and in what a stuck rank says by itself.
 */
#include "watch/diagnosis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX  8 /* ranks listed before "and 5 more" */
#define CIRCLE_MAX 8

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

void diagnosis_age_add(struct diagnosis_text *line, double age_s)
{
    diagnosis_add(line, "%.*f s", age_s < 10 ? 1 : 0, age_s);
}

/* ---- Waits, in the words of their layers: see struct wait_spec ------------------------------ */

static void add_sid(struct diagnosis_text *line, const char *kind, uint64_t sid)
{
    const struct layer *owner = sid <= UINT32_MAX ? layer_of_sid((uint32_t)sid) : NULL;
    if (owner)
        diagnosis_add(line, "%s", owner->sid_name);
    else
        diagnosis_add(line, "%s %" PRIu64, kind, sid);
}

static void add_choice(struct diagnosis_text *line, const char *const *choices, uint64_t which)
{
    while (which > 0 && choices[1]) { /* it may be anything: the last one then */
        choices++;
        which--;
    }
    diagnosis_add(line, "%s", choices[0]);
}

static void add_field(struct diagnosis_text *line, const struct wait_spec *spec,
                      const struct wait_note *note, char field)
{
    switch (field) {
    case 'n':
    case 'l':
    case 'm':
        diagnosis_add(line, "%" PRIu64,
                      field == 'n'   ? note->number
                      : field == 'l' ? note->length
                                     : note->moved);
        return;
    case 's':
    case 'q':
        add_sid(line, field == 's' ? "segment" : "queue", note->number);
        return;
    case 'c':
        add_choice(line, spec->choices, note->length);
        return;
    default:
        if (note->peer < 0)
            diagnosis_add(line, "any rank");
        else
            diagnosis_add(line, "rank %d", note->peer);
    }
}

/* Whether the wait has what "[..%x..]" is about. */
static bool has_field(const struct wait_note *note, const char *part)
{
    switch (part[strcspn(part, "%") + 1]) {
    case 'n':
        return (int64_t)note->number >= 0;
    case 'm':
        return note->moved > 0;
    default:
        return note->peer >= 0;
    }
}

void diagnosis_note_add(struct diagnosis_text *line, const struct wait_note *note)
{
    const struct wait_spec *spec = wait_spec(note->call);
    for (const char *at = spec->text; *at; at++) {
        if (*at == '[' && !has_field(note, at))
            at += strcspn(at, "|]"); /* to the other part, if there is one */
        else if (*at == '|')
            at += strcspn(at, "]");
        else if (*at == '%')
            add_field(line, spec, note, *++at);
        else if (*at != '[' && *at != ']')
            diagnosis_add(line, "%c", *at);
    }
}

/* ---- Several ranks -------------------------------------------------------------------------- */

/* Members of a group that have never been heard of: they have not joined it yet. */
static unsigned unknown_members(const struct diagnosis *diagnosis, int rank,
                                const struct wait_note *note)
{
    unsigned known = note->peer >= 0, size = 0; /* a peer is one who has not joined */
    for (uint32_t r = 0; r < diagnosis->size; r++) {
        const struct diagnosis_group *group = diagnosis_group(&diagnosis->rank[r], note->number);
        known += group != NULL;
        size = group && (int)r == rank ? group->size : size;
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
    for (uint32_t other = 0; other < diagnosis->size && listed < NAMES_MAX; other++) {
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
        diagnosis_add(line, "%s %u that ha%s not made the %s", count > 0 ? " and" : ", missing",
                      unknown, unknown == 1 ? "s" : "ve", wait_spec(wait->note.call)->group);
}

void diagnosis_wait_add(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
                        const struct diagnosis_wait *wait)
{
    diagnosis_note_add(line, &wait->note);
    if (wait_spec(wait->note.call)->on == WAIT_ON_GROUP)
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

void diagnosis_state_add(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
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
        diagnosis_wait_add(line, diagnosis, rank, &them->wait[i]);
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

void diagnosis_circle_add(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank)
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
        if (steps >= CIRCLE_MAX) {
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

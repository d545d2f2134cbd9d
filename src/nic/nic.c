/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of NICs, opening one by name, and what all of them share.
 */
#include "nic/nic.h"

#include "base/clock.h"
#include "base/error.h"
#include "nic/fault/fault.h"
#include "nic/martini/martini.h"
#include "nic/ofi/ofi.h"
#include "nic/shm/shm.h"
#include "watch/diagnosis.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const struct nic_ops *const nic_list[] = {&shm_ops,     &ofi_ops,   &mixed_ops,
                                          &martini_ops, &fault_ops, NULL};

static int unknown_name(const char *name)
{
    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; nic_list[i]; i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                 nic_list[i]->name);
    return error_fail(RH_EINVALID,
                      "there is no NIC \"%s\"; choose one of: %s (a wrapping one as fault(shm))",
                      name, list);
}

static int open_and_complete(struct nic **nic, const struct nic_ops *ops, struct nic_job *job,
                             const char *inner)
{
    int result = ops->open(nic, job, inner);
    if (result < 0)
        return result;
    (*nic)->completed = *(*nic)->ops;
    nic_ops_complete(&(*nic)->completed);
    (*nic)->ops = &(*nic)->completed;
    return 0;
}

int nic_open(struct nic **nic, const char *name, struct nic_job *job)
{
    char outer[64];
    char inner[64];
    size_t outer_length = strcspn(name, "(");
    size_t inner_length = strlen(name) - outer_length;
    if (outer_length >= sizeof(outer) || inner_length >= sizeof(inner))
        return unknown_name(name);
    memcpy(outer, name, outer_length);
    outer[outer_length] = '\0';
    if (inner_length > 0) {
        if (name[strlen(name) - 1] != ')')
            return unknown_name(name);
        inner_length -= 2;
        memcpy(inner, name + outer_length + 1, inner_length);
        inner[inner_length] = '\0';
    }
    for (size_t i = 0; nic_list[i]; i++) {
        if (strcmp(nic_list[i]->name, outer) == 0)
            return open_and_complete(nic, nic_list[i], job, inner_length > 0 ? inner : NULL);
    }
    return unknown_name(name);
}

/* " on HOST", where the job has several. */
static const char *place_of(const struct roster *roster, int rank, char text[80])
{
    text[0] = '\0';
    if (roster->node_count > 1)
        snprintf(text, 80, " on host %.64s", roster_node_of(roster, rank)->host);
    return text;
}

int nic_peer_gone(struct nic *nic, int rank, const char *during)
{
    const struct roster *roster = nic->job->roster;
    const struct roster_peer *peer = &roster->peer[rank];
    char place[80];
    place_of(roster, rank, place);
    counter_add_exact(nic->job->counters, COUNTER_DENIED_DEAD);
    if (roster_state(roster, rank) != RH_PEER_DIED)
        return error_set(RH_EDEAD, rank, "%s: rank %d%s has left the job", during, rank, place);
    int signal = atomic_load_explicit(&peer->end_signal, memory_order_relaxed);
    int status = atomic_load_explicit(&peer->end_status, memory_order_relaxed);
    if (signal == 0 && status == ROSTER_END_HOST)
        return error_set(RH_EDEAD, rank, "%s: rank %d%s: the host does not answer", during, rank,
                         place);
    if (signal == 0 && status == ROSTER_END_UNKNOWN)
        return error_set(RH_EDEAD, rank, "%s: rank %d%s has ended without leaving the job", during,
                         rank, place);
    if (signal == 0)
        return error_set(RH_EDEAD, rank, "%s: rank %d%s has died (exit status %d)", during, rank,
                         place, status);
    return error_set(RH_EDEAD, rank, "%s: rank %d%s has died (signal %d, %s)", during, rank, place,
                     signal, strsignal(signal));
}

int nic_wait_check(struct nic *nic, int from)
{
    const struct roster *roster = nic->job->roster;
    if (from != RH_ANY_RANK) {
        if (roster_state(roster, from) < RH_PEER_LEFT)
            return 0;
        return nic_peer_gone(nic, from, "wait");
    }
    uint32_t deaths = atomic_load_explicit(roster_deaths(roster, nic->job->rank),
                                           memory_order_acquire);
    if (deaths == atomic_load_explicit(&nic->job->deaths_known, memory_order_relaxed))
        return 0;
    int rank = roster_last_dead(roster, nic->job->rank);
    return nic_peer_gone(nic, rank, "wait for any rank");
}

void nic_wait_describe(void *context, struct wait_note *note)
{
    const struct nic_wait *wait = context;
    *note = (struct wait_note){.call = WAIT_UNTIL, .peer = wait->from};
    if (wait->word) {
        note->call = WAIT_WORD;
        note->number = wait->value;
        note->length = wait->when;
        note->moved = __atomic_load_n(wait->word, __ATOMIC_RELAXED);
    } else if (wait->done) {
        note->call = WAIT_DONE;
    } else if (wait->queue) {
        note->call = WAIT_QUEUE;
    }
    if (wait->describe)
        wait->describe(wait->context, note);
}

int nic_wait_late(const struct nic_wait *wait, const char *hint)
{
    struct diagnosis_text line = {.used = 0};
    struct wait_note note;
    nic_wait_describe((void *)(uintptr_t)wait, &note);
    diagnosis_note_add(&line, &note);
    return error_set(RH_ETIMEOUT, wait->from, "waited %.3g s in %s%s",
                     (double)wait->timeout_ns / NS_PER_S, line.text, hint);
}

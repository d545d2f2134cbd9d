/* SPDX-License-Identifier: BSD-3-Clause
 *
 * May one table follow another while the fabric works? Switches take over their entries one by one,
 * in an order that nobody controls, so at any moment each switch holds, for each LID by itself, its
 * old entry or its new one. A packet may be sent on by an old entry here and by a new one there.
 * The check covers all these mixed states:
 *
 * - for each LID, old and new entries together lead nowhere round in a circle. A circle in the
 *   union passes each switch once, so it is one of the mixed states; without one there is no such
 *   state;
 * - the dependencies of all ways through the union have no cycle. Without circles each way through
 *   the union passes a switch once, so it is a way of some mixed state, and packets that were sent
 *   on in different states wait beside each other.
 *
 * It knows nothing of turns, ranks and stages, as check.h wants it.
 */
#pragma once

#include "route/formats/dump.h"

struct transition_report {
    uint64_t entries_changed;
    uint32_t lids_circling; /* LIDs for which packets may go round in a circle */
    bool loop_free;         /* what hosts send cannot deadlock */
    char circle[512];       /* the first circle, in words; empty if there is none */
    char witness[2048];     /* the first deadlock, in words; empty if there is none */
};

/* Both tables as the switches of this fabric hold them. Entries over cables that are not there drop
 * their packets. 0 if the check could be made; whether it passed is transition_safe(). */
int check_transition(const struct fabric *fabric, const struct lft_dump *before,
                     const struct lft_dump *after, struct transition_report *report);

static inline bool transition_safe(const struct transition_report *report)
{
    return report->lids_circling == 0 && report->loop_free;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a wait is about, in words: the same for every NIC.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/nic.h"
#include "watch/diagnosis.h"

void nic_wait_describe(const struct nic_wait *wait, struct wait_note *note)
{
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

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that nobody has asked for yet lie in this process's memory, and that has an end
 * (FI_RM_ENABLED). When they are more than FI_RHINET_UNEXPECTED_SIZE, each peer whose message comes
 * in vain is asked to hold: its program hears -FI_EAGAIN from then on, and nothing is lost. What
 * was under way still comes and is kept. When half of it is free, all may go on. RMA, atomics and
 * answers are never held, since they lie nowhere.
 */
#include "provider/receive.h"

#include "base/log.h"

#include <stdlib.h>

#define UNEXPECTED_DEFAULT ((size_t)256 << 20)
#define PARAMETER          "unexpected_size"

enum hold_side { HOLD_WANTED = 1 /* by us */, HOLD_KEPT = 2 /* by us, the peer has asked */ };

void hold_define(void)
{
    fi_param_define(&provider, PARAMETER, FI_PARAM_SIZE_T,
                    "bytes of messages without a receive that a process keeps before their senders "
                    "are told to try again (default: 256 MiB)");
}

bool hold_open(struct engine *engine)
{
    engine->unexpected_max = UNEXPECTED_DEFAULT;
    fi_param_get_size_t(&provider, PARAMETER, &engine->unexpected_max);
    engine->holds = calloc((size_t)rh_size(engine->job), sizeof(engine->holds[0]));
    return engine->holds != NULL;
}

/* ---- The receiver --------------------------------------------------------------------------- */

static void tell(struct engine *engine, int rank, bool is_held)
{
    struct answer_envelope envelope = {.number = is_held};
    if (is_held)
        engine->holds[rank] |= HOLD_WANTED;
    else
        engine->holds[rank] &= (uint8_t)~HOLD_WANTED;
    engine->asked_count += is_held ? 1 : -1;
    if (rank == engine->mail->rank)
        hold_arrive(engine, rank, is_held);
    else
        parcel_out(engine, place_of(rank, 0), label_make(SUBJECT_HOLD, 0, 0), &envelope,
                   sizeof(envelope), NULL, 0);
}

void hold_kept(struct engine *engine, const struct message *message)
{
    int rank = place_rank(message->head.place);
    engine->unexpected += message->cost;
    if (likely(engine->unexpected <= engine->unexpected_max) || (engine->holds[rank] & HOLD_WANTED))
        return;
    log_debug("%zu bytes of messages without receives are kept: rank %d is asked to hold",
              engine->unexpected, rank);
    tell(engine, rank, true);
}

void hold_freed(struct engine *engine, const struct message *message)
{
    ASSERT(engine->unexpected >= message->cost);
    engine->unexpected -= message->cost;
    if (likely(engine->asked_count == 0) || engine->unexpected > engine->unexpected_max / 2)
        return;
    for (int rank = 0; rank < rma_used(engine->job); rank++) {
        if (engine->holds[rank] & HOLD_WANTED)
            tell(engine, rank, false);
    }
}

/* ---- The sender ----------------------------------------------------------------------------- */

void hold_arrive(struct engine *engine, int rank, bool is_held)
{
    bool was_held = engine->holds[rank] & HOLD_KEPT;
    engine->held_count += (int)is_held - (int)was_held;
    if (is_held)
        engine->holds[rank] |= HOLD_KEPT;
    else
        engine->holds[rank] &= (uint8_t)~HOLD_KEPT;
}

bool hold_is_on(const struct engine *engine, int rank)
{
    return engine->holds[rank] & HOLD_KEPT;
}

/* It is gone, and asks nothing any more. */
void hold_gone(struct engine *engine, int rank)
{
    hold_arrive(engine, rank, false);
    if (engine->holds[rank] & HOLD_WANTED)
        engine->asked_count--;
    engine->holds[rank] = 0;
}

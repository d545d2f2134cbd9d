/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ring between one sender and one receiver, as PM/RHiNET has them: it lies in the receiver's
 * memory, and a message is one push of header, body and trailer into it.
 *
 * The ring is divided into units; a message starts at a unit and occupies as many as it needs. In
 * its first unit:
 *
 *     0        4         8                      8 + length, rounded up to 4
 *     | (free) | header  | body ...             | trailer |
 *
 * so the body is aligned to 8 bytes, and header and trailer together cost 8. Header and trailer are
 * zero in a free unit: who releases a message zeroes it. The receiver polls the header of the unit
 * where it is, finds the length in it, then polls the trailer. No order of the bytes within a push
 * is needed: the aligned word that contains the trailer is the push's notice, which never overtakes
 * the data, and a header is only believed when all its bytes are there (ring_header_make). The
 * trailer tells the position, so that a message of an earlier lap is never taken for a new one.
 *
 * With a body of 2040 bytes the trailer is the first half of the next unit's first word, and the
 * notice writes zero to the other half, where the next header will be. That unit is still the
 * sender's: one is always kept free. After the last unit of the ring there is RING_SLACK for this.
 *
 * A message is not divided at the end of the ring: there the sender writes a message of no length
 * whose header says RING_SKIP, and begins again at unit 0.
 *
 * Positions count units and never wrap. The receiver's is published in a word of its own, which the
 * sender pulls only when the ring looks full: in between nobody tells anybody anything.
 */
#pragma once

#include "pm/context.h"

#define RING_SLACK 8

struct ring_shape {
    uint32_t unit_length; /* power of two, at least 64 */
    uint32_t unit_count;  /* power of two */
};

/* What the receiver publishes of a ring, in a line of its own. */
struct ring_words {
    _Alignas(PM_CACHE_LINE) uint64_t tail; /* how far the receiver is */
    uint64_t wake_at; /* the sender sleeps and wants to be woken here; 0: it does not */
};

/* The sender's end. */
struct ring_out {
    struct rh_remote ring;  /* unit 0 */
    struct rh_remote words; /* struct ring_words */
    struct ring_shape shape;
    uint64_t head; /* next unit to write */
    uint64_t tail; /* where the receiver is, at least */
};

/* The receiver's end. */
struct ring_in {
    char *base;
    struct ring_words *words;
    struct ring_shape shape;
    uint64_t at;       /* next unit to read */
    uint32_t released; /* units of the message that is out */
    uint32_t length;   /* and its bytes */
};

/* Send the message in the context's send buffer. RH_EAGAIN without a text: no room. */
int ring_send(struct pm_context *pm, struct ring_out *out);

/* Ask to be woken when there is room, before a sleep. A wake may be missed; it only saves time. */
void ring_send_announce(struct pm_context *pm, struct ring_out *out);

/* Find the next message of the ring of source. RH_EAGAIN without a text: none. */
int ring_look(struct ring_in *in, int source, struct pm_message *message);

/* Zero the message that is out and give its units back; wakes the sender if it asked for that. */
void ring_release(struct pm_context *pm, struct ring_in *in, int source);

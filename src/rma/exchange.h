/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbour exchange: what rh_exchange_create() has prepared for rh_exchange().
 *
 * Each rank has a segment with two landings per side, which take turns. A neighbour that is done
 * with call n has our bytes of call n; before it can be done with n + 1, and write for n + 2, it
 * needs those of n + 1, which we send after we have emptied all landings of n. So it is ahead of us
 * by one call at most, and needs no leave to write: a call costs one push on the way.
 *
 *   exchange_meet.c   the neighbours meet once and compare what they have said
 *   exchange.c        sides, calls
 *
 * The segment: front, cards, places, landings; exchange_lay_out() says where.
 */
#pragma once

#include "rma/rma.h"

#define EXCHANGE_SIDES_MAX 4096u

/* What neighbours read of a rank when they meet: one word, written after the cards. */
struct exchange_front {
    uint64_t side_count; /* 0: the cards are not there yet, or not good any more */
    uint64_t reserved;
};

/* A side as its rank sees it. */
struct exchange_card {
    int64_t rank; /* -1: no neighbour */
    uint64_t meets;
    uint64_t length;  /* of all its blocks */
    uint64_t landing; /* offset of the first of the two; the other follows */
};

/* Where the neighbour on a side writes besides landings. A cache line: sides do not disturb each
 * other. */
struct exchange_place {
    uint64_t arrived; /* the last call whose bytes have landed */
    uint64_t met;     /* enum exchange_met */
    uint64_t parted;  /* 1: the neighbour has ended its exchange */
    uint64_t broken;  /* 0, or whose fault it is that nothing more will come: exchange_broken() */
    uint64_t reserved[4];
};

enum exchange_met { EXCHANGE_MET = 1, EXCHANGE_REFUSED = 2 };

struct exchange_side {
    struct rh_side given; /* with its defaults filled in */
    size_t length;        /* of all blocks */
    uint64_t landing;     /* ours, as in the card */
    uint64_t stage;       /* offset in the stage: where blocks are put together; not for one */
    /* The neighbour's, since the ranks have met. */
    uint64_t peer_landing;
    uint64_t peer_place;
    uint64_t peer_sides; /* how many it has; 0: it has not been asked */
    struct rh_done done;
    bool is_known;     /* landing and place are */
    bool is_under_way; /* done belongs to a push */
};

struct rh_exchange {
    struct rh_job *job;
    rh_sid sid;
    char *memory; /* our segment */
    uint64_t number;
    int failure; /* of an earlier call; 0: none */
    char *stage;
    struct exchange_place *places; /* in memory */
    unsigned side_count;
    struct exchange_side sides[];
};

/* A landing's length: landings begin at cache lines. */
static inline uint64_t exchange_room(uint64_t length)
{
    return (length + 63) / 64 * 64;
}

static inline uint64_t exchange_card_at(uint64_t side)
{
    return sizeof(struct exchange_front) + side * sizeof(struct exchange_card);
}

static inline uint64_t exchange_place_at(uint64_t side_count, uint64_t side)
{
    return exchange_room(exchange_card_at(side_count)) + side * sizeof(struct exchange_place);
}

static inline bool exchange_has(const struct exchange_side *side)
{
    return side->given.rank >= 0;
}

/* A failure as neighbours tell it on: the rank that is gone, or late. */
static inline uint64_t exchange_broken(int code, int rank)
{
    return (uint64_t)(rank + 1) << 1 | (code == RH_EDEAD);
}

/* Set a word in our places at all neighbours that are known. Returns the first error, after having
 * tried all. */
int exchange_tell_all(struct rh_exchange *exchange, uint64_t offset, uint64_t value);

/* Wait for a word of a side's place until it is at least value, or the neighbour tells that the
 * exchange is broken, which is an error like the neighbour's own. */
int exchange_await(struct rh_exchange *exchange, unsigned side, const uint64_t *word,
                   uint64_t value, int64_t deadline_ns);

/* Meet all neighbours: afterwards each knows where to write at the others, and nobody reads the
 * others' cards any more. */
int exchange_meet(struct rh_exchange *exchange);

/* Part: when this returns no neighbour takes our segment, nor we theirs, for that of another
 * exchange, so that one can be made under the same SID at once. After a failure it tells the
 * neighbours and does not wait for them. */
int exchange_part(struct rh_exchange *exchange);

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both ends of a ring. How it works: ring.h.
 */
#include "pm/ring.h"

#include <stddef.h>
#include <string.h>

#define HEADER_AT   4
#define BODY_AT     8
#define RING_SKIP   0x3fffu /* in place of a length: go on at unit 0 */
#define PUSH_LENGTH 2048    /* of the pieces with PM_SPLIT_PUSHES */

_Static_assert(PM_IMAGE_BEFORE == BODY_AT, "the send buffer's body stands where a ring's does");
_Static_assert(PM_IMAGE_AFTER >= 2 * sizeof(uint64_t), "room for the word with the trailer");
_Static_assert(PM_MESSAGE_MAX < RING_SKIP, "a length is no skip");

/* The second half is the complement of the first. Each byte is zero until it has arrived, so a
 * header of which some are missing is never valid, whatever it says. */
static uint32_t ring_header_make(uint32_t code)
{
    return code | (~code & 0xffffu) << 16;
}

static bool ring_header_is_whole(uint32_t header)
{
    return (header & 0xffffu) == (~header >> 16 & 0xffffu);
}

/* Odd, so that it is never zero. */
static uint32_t ring_trailer_make(uint64_t position)
{
    return (uint32_t)position << 1 | 1;
}

static size_t trailer_at(size_t length)
{
    return (BODY_AT + length + 3) & ~(size_t)3;
}

/* Header, body and trailer cost 8 bytes; the 4 before the header belong to the unit before. */
static uint32_t units_for(const struct ring_shape *shape, size_t length)
{
    return (uint32_t)((trailer_at(length) - 1) / shape->unit_length + 1);
}

/* ---- Sender --------------------------------------------------------------------------------- */

static bool has_room(const struct ring_out *out, uint32_t unit_count)
{
    return out->head + unit_count < out->tail + out->shape.unit_count; /* one stays free */
}

static int has_room_slow(struct pm_context *pm, struct ring_out *out, uint32_t unit_count)
{
    uint64_t tail;
    int result = pm_pass(rh_pull(pm->job, out->words, &tail, sizeof(tail)));
    if (result < 0)
        return result;
    if (tail - out->tail > out->head - out->tail)
        return pm_fail(RH_ECORRUPT, "rank %d says it is at %llu of a ring that ends at %llu",
                       out->ring.rank, (unsigned long long)tail, (unsigned long long)out->head);
    out->tail = tail;
    return has_room(out, unit_count) ? 0 : RH_EAGAIN;
}

static int push_in_pieces(struct pm_context *pm, struct rh_remote *target, const char **source,
                          size_t *length)
{
    while (*length > PUSH_LENGTH) {
        int result = pm_pass(rh_push(pm->job, *target, *source, PUSH_LENGTH));
        if (result < 0)
            return result;
        target->offset += PUSH_LENGTH;
        *source += PUSH_LENGTH;
        *length -= PUSH_LENGTH;
    }
    return 0;
}

/* Push an image (a message with what belongs around it) to where the head is, and move that. */
static inline int push_image(struct pm_context *pm, struct ring_out *out, char *image,
                             uint32_t code, size_t length)
{
    uint32_t header = ring_header_make(code);
    uint32_t trailer = ring_trailer_make(out->head);
    size_t end = trailer_at(length);
    size_t word_at = end & ~(size_t)7;
    memcpy(image + HEADER_AT, &header, sizeof(header));
    memcpy(image + end, &trailer, sizeof(trailer));
    if (end == word_at)
        memset(image + end + 4, 0, 4); /* where the next header will be */

    struct rh_remote target = out->ring;
    uint64_t unit = out->head & (out->shape.unit_count - 1);
    target.offset += unit * out->shape.unit_length;
    target.offset += HEADER_AT;
    const char *source = image + HEADER_AT;
    size_t left = word_at - HEADER_AT; /* and the word with the trailer, which is the last */
    if (unlikely(pm->flags & PM_SPLIT_PUSHES)) {
        int result = push_in_pieces(pm, &target, &source, &left);
        if (result < 0)
            return result;
    }
    return pm_pass(rh_push_ordered(pm->job, target, source, left + 8));
}

static int skip_to_start(struct pm_context *pm, struct ring_out *out, uint32_t unit_count)
{
    _Alignas(8) char image[PM_IMAGE_BEFORE + PM_IMAGE_AFTER] = {0};
    int result = push_image(pm, out, image, RING_SKIP, 0);
    if (result == 0)
        out->head += unit_count;
    return result;
}

int ring_send(struct pm_context *pm, struct ring_out *out)
{
    uint32_t needed = units_for(&out->shape, pm->send_length);
    uint32_t to_end = out->shape.unit_count - (uint32_t)(out->head & (out->shape.unit_count - 1));
    uint32_t skipped = likely(needed <= to_end) ? 0 : to_end;
    int result = 0;
    if (unlikely(!has_room(out, skipped + needed))) {
        result = has_room_slow(pm, out, skipped + needed);
        if (result < 0)
            return result;
    }
    if (unlikely(skipped > 0)) {
        result = skip_to_start(pm, out, skipped);
        if (result < 0)
            return result;
    }
    result = push_image(pm, out, pm->image, (uint32_t)pm->send_length, pm->send_length);
    if (likely(result == 0))
        out->head += needed;
    return result;
}

void ring_send_announce(struct pm_context *pm, struct ring_out *out)
{
    uint64_t needed_at = out->head + units_for(&out->shape, pm->send_length) + 1;
    uint64_t half_at = out->head + out->shape.unit_count / 2;
    uint64_t wake_at = (needed_at > half_at ? needed_at : half_at) - out->shape.unit_count;
    struct rh_remote word = out->words;
    word.offset += offsetof(struct ring_words, wake_at);
    (void)rh_push(pm->job, word, &wake_at, sizeof(wake_at)); /* if this fails, so will the send */
}

/* ---- Receiver ------------------------------------------------------------------------------- */

static inline char *unit_address(const struct ring_in *in)
{
    return in->base + (in->at & (in->shape.unit_count - 1)) * in->shape.unit_length;
}

/* Headers arrive as plain data, so ThreadSanitizer must not look at the polling; when the trailer
 * is there it is told what that means: pairs with the notice, so the body is there, too. */
#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
#define told_by_notice(word) __tsan_acquire(word)
#else
#define told_by_notice(word) ((void)(word))
#endif

__attribute__((no_sanitize_thread)) static inline uint32_t poll_half_word(const char *address)
{
    return __atomic_load_n((const uint32_t *)(const void *)address, __ATOMIC_ACQUIRE);
}

/* Move on by unit_count and tell the sender; zeroed before, so that it finds free units zero. */
static void advance(struct ring_in *in, uint32_t unit_count)
{
    in->at += unit_count;
    __atomic_store_n(&in->words->tail, in->at, __ATOMIC_RELEASE); /* pairs with has_room_slow() */
}

static void zero(char *unit, size_t length)
{
    memset(unit + HEADER_AT, 0, trailer_at(length) + 4 - HEADER_AT);
}

static int corrupt(int source, uint32_t length)
{
    return pm_fail(RH_ECORRUPT, "rank %d has written a message of %u bytes into its ring", source,
                   length);
}

/* What comes next is for the next look. */
static int skip(struct ring_in *in, char *unit)
{
    zero(unit, 0);
    advance(in, in->shape.unit_count - (uint32_t)(in->at & (in->shape.unit_count - 1)));
    return RH_EAGAIN;
}

int ring_look(struct ring_in *in, int source, struct pm_message *message)
{
    char *unit = unit_address(in);
    uint32_t header = poll_half_word(unit + HEADER_AT);
    if (likely(header == 0) || unlikely(!ring_header_is_whole(header)))
        return RH_EAGAIN;
    uint32_t length = header & 0xffffu;
    bool is_skip = length == RING_SKIP;
    if (unlikely(length > PM_MESSAGE_MAX && !is_skip))
        return corrupt(source, length);
    uint32_t unit_count = units_for(&in->shape, is_skip ? 0 : length);
    if (unlikely((in->at & (in->shape.unit_count - 1)) + unit_count > in->shape.unit_count))
        return corrupt(source, length);
    size_t end = trailer_at(is_skip ? 0 : length);
    if (unlikely(poll_half_word(unit + end) != ring_trailer_make(in->at)))
        return RH_EAGAIN;
    told_by_notice(unit + (end & ~(size_t)7));
    if (unlikely(is_skip))
        return skip(in, unit);
    in->released = unit_count;
    in->length = length;
    message->data = unit + BODY_AT;
    message->length = length;
    message->source = source;
    return 0;
}

static void wake_sender(struct pm_context *pm, struct ring_in *in, int source)
{
    __atomic_store_n(&in->words->wake_at, 0, __ATOMIC_RELAXED);
    (void)rh_wake(pm->job, source); /* else it wakes by itself, later */
}

void ring_release(struct pm_context *pm, struct ring_in *in, int source)
{
    zero(unit_address(in), in->length);
    advance(in, in->released);
    in->released = 0;
    uint64_t wake_at = __atomic_load_n(&in->words->wake_at, __ATOMIC_RELAXED);
    if (unlikely(wake_at != 0 && in->at >= wake_at))
        wake_sender(pm, in, source);
}

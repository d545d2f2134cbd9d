/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding what differs from a twin, and sending it home: exactly the bytes that have changed, since
 * another rank may have written the others.
 */
#include "dsm/page/pages.h"
#include "rma/inside.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static inline uint64_t load(const char *address)
{
    uint64_t word;
    memcpy(&word, address, sizeof(word));
    return word;
}

/* The bytes of a half word that differ, in as few stores as there are runs of them: a neighbour's
 * byte is never written, not even with the value that it has. */
static inline size_t copy_half(char *to, const char *now, uint32_t difference)
{
    if ((difference & 0xff) && (difference & 0xff00) && !(difference & 0xff000000)) {
        memcpy(to, now, 2); /* the usual end of a float that has changed a little */
        if (!(difference & 0xff0000))
            return 2;
        to[2] = now[2];
        return 3;
    }
    size_t changed = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (difference >> (8 * i) & 0xff) {
            ((volatile char *)to)[i] = now[i];
            changed++;
        }
    }
    return changed;
}

static size_t copy_by_words(char *to, const char *now, const char *before, size_t length)
{
    size_t changed = 0;
    for (size_t at = 0; at < length; at += 32) {
        uint64_t d[4];
        for (unsigned i = 0; i < 4; i++)
            d[i] = load(now + at + 8 * i) ^ load(before + at + 8 * i);
        if ((d[0] | d[1] | d[2] | d[3]) == 0)
            continue;
        for (unsigned i = 0; i < 4; i++) {
            size_t low = at + 8 * i;
            if ((uint32_t)d[i] != 0)
                changed += copy_half(to + low, now + low, (uint32_t)d[i]);
            if (d[i] >> 32 != 0)
                changed += copy_half(to + low + 4, now + low + 4, (uint32_t)(d[i] >> 32));
        }
    }
    return changed;
}

#ifdef __x86_64__
/* The same by stores under a mask, fifty times as fast when much has changed. */
__attribute__((target("avx512bw"))) static size_t copy_by_masks(char *to, const char *now,
                                                                const char *before, size_t length)
{
    size_t changed = 0;
    for (size_t at = 0; at < length; at += 64) {
        __m512i wanted = _mm512_loadu_si512(now + at);
        __mmask64 mask = _mm512_cmpneq_epi8_mask(wanted, _mm512_loadu_si512(before + at));
        if (mask != 0) {
            _mm512_mask_storeu_epi8(to + at, mask, wanted);
            changed += (size_t)__builtin_popcountll(mask);
        }
    }
    return changed;
}
#endif

size_t change_copy(char *to, const char *now, const char *before, size_t length)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512bw"))
        return copy_by_masks(to, now, before, length);
#endif
    return copy_by_words(to, now, before, length);
}

/* Next run of bytes that differ, from *at on; its end is returned, *at is `length` if there is
 * none. */
static size_t next_run(const char *now, const char *before, size_t *at, size_t length)
{
    size_t start = *at;
    while (start < length && now[start] == before[start])
        start += start % 8 == 0 && load(now + start) == load(before + start) ? 8 : 1;
    *at = start;
    while (start < length && now[start] != before[start])
        start++;
    return start;
}

static int send_piece(struct rh_dsm_pages *pages, struct rh_remote target, const char *data,
                      size_t length)
{
    struct pages_patience patience = pages_patience(pages);
    int result;
    do {
        result = length <= RH_INLINE_MAX ? rh_push_inline(pages->job, target, data, length)
                                         : rh_push(pages->job, target, data, length);
        if (result == RH_EAGAIN && rh_flush(pages->job, target.rank) == RH_EDEAD)
            return RH_EDEAD;
    } while (pages_try_again(pages, &patience, result));
    return result == RH_EAGAIN ? error_set(RH_ETIMEOUT, target.rank,
                                           "rank %d takes no changes of shared pages: its queue "
                                           "stays full",
                                           target.rank)
                               : result;
}

static int64_t send_runs(struct rh_dsm_pages *pages, size_t page, const char *now,
                         const char *before)
{
    struct rh_remote home = pages_data_at(pages, pages_home_of(pages, page), page);
    int64_t changed = 0;
    for (size_t at = 0, end; at < FAULTS_PAGE; at = end) {
        end = next_run(now, before, &at, FAULTS_PAGE);
        if (end == at)
            break;
        struct rh_remote target = rh_at(home.rank, home.sid, home.offset + at);
        int result = send_piece(pages, target, now + at, end - at);
        if (result < 0)
            return result;
        changed += (int64_t)(end - at);
    }
    return changed;
}

int64_t change_send(struct rh_dsm_pages *pages, size_t page, const char *now, const char *before)
{
    ASSERT(page < pages->count);
    ASSERT(!pages_is_mine(pages, page)); /* the home's own writes are there already */
    char *direct = pages->direct[pages_home_of(pages, page)];
    int64_t changed = direct ? (int64_t)change_copy(direct + page * FAULTS_PAGE, now, before,
                                                    FAULTS_PAGE)
                             : send_runs(pages, page, now, before);
    if (changed > 0)
        pages_count(&pages->stat.pushed_bytes, (uint64_t)changed);
    return changed;
}

int change_complete(struct rh_dsm_pages *pages, int home)
{
    if (!pages->direct[home])
        return rh_flush(pages->job, home);
    if (rh_peer_state(pages->job, home) < RH_PEER_LEFT)
        return 0;
    return rma_peer_gone(pages->job, home, "changes of shared pages");
}

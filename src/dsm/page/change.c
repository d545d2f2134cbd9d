/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding what differs from a twin, and sending it home: exactly the bytes that have changed, since
 * another rank may have written the others.
 */
#include "dsm/page/pages.h"
#include "rma/rma.h"

#include <string.h>

static inline uint64_t load(const char *address)
{
    uint64_t word;
    memcpy(&word, address, sizeof(word));
    return word;
}

/* One byte at a time, each with its own store: a neighbour's byte is never written, not even with
 * the value that it has. */
static inline size_t copy_bytes(char *to, const char *now, uint64_t difference)
{
    size_t changed = 0;
    for (unsigned i = 0; i < 8; i++) {
        if (difference >> (8 * i) & 0xff) {
            ((volatile char *)to)[i] = now[i];
            changed++;
        }
    }
    return changed;
}

/* Whether every byte of a word is other than 0. */
static inline bool has_no_zero_byte(uint64_t word)
{
    return ((word - 0x0101010101010101u) & ~word & 0x8080808080808080u) == 0;
}

size_t change_copy(char *to, const char *now, const char *before, size_t length)
{
    size_t changed = 0;
    for (size_t at = 0; at < length; at += 32) {
        uint64_t d[4];
        for (unsigned i = 0; i < 4; i++)
            d[i] = load(now + at + 8 * i) ^ load(before + at + 8 * i);
        if ((d[0] | d[1] | d[2] | d[3]) == 0)
            continue;
        for (unsigned i = 0; i < 4; i++) {
            size_t offset = at + 8 * i;
            if (has_no_zero_byte(d[i])) {
                memcpy(to + offset, now + offset, 8);
                changed += 8;
            } else if (d[i] != 0) {
                changed += copy_bytes(to + offset, now + offset, d[i]);
            }
        }
    }
    return changed;
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
    int result = 0;
    for (int tries = 0; tries < PAGES_TRIES; tries++) {
        result = length <= RH_INLINE_MAX ? rh_push_inline(pages->job, target, data, length)
                                         : rh_push(pages->job, target, data, length);
        if (result == RH_EAGAIN)
            result = rh_flush(pages->job, target.rank);
        else if (result != RH_ETIMEOUT)
            break;
    }
    return result;
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
    char *direct = pages->direct[pages_home_of(pages, page)];
    int64_t changed = direct ? (int64_t)change_copy(direct + page * FAULTS_PAGE, now, before,
                                                    FAULTS_PAGE)
                             : send_runs(pages, page, now, before);
    if (changed > 0)
        pages->stat.pushed_bytes += (uint64_t)changed;
    return changed;
}

int change_complete(struct rh_dsm_pages *pages, int home)
{
    return pages->direct[home] ? 0 : rh_flush(pages->job, home);
}

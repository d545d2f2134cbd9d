/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the program's that is in pieces.
 */
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/uio.h>

static inline size_t iov_length(const struct iovec *iov, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += iov[i].iov_len;
    return length;
}

static inline void iov_gather(void *target, const struct iovec *iov, size_t count)
{
    char *at = target;
    for (size_t i = 0; i < count; i++) {
        if (iov[i].iov_len > 0)
            memcpy(at, iov[i].iov_base, iov[i].iov_len);
        at += iov[i].iov_len;
    }
}

/* As much as fits; returns how much. */
static inline size_t iov_scatter(const struct iovec *iov, size_t count, const void *source,
                                 size_t length)
{
    size_t done = 0;
    for (size_t i = 0; i < count && done < length; i++) {
        size_t part = length - done < iov[i].iov_len ? length - done : iov[i].iov_len;
        if (part > 0)
            memcpy(iov[i].iov_base, (const char *)source + done, part);
        done += part;
    }
    return done;
}

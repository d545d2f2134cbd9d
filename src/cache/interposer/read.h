/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading, for our other files: as the functions of the C library, from the cache where it can be.
 */
#ifndef CACHE_INTERPOSER_READ_H
#define CACHE_INTERPOSER_READ_H

#include <sys/types.h>

ssize_t read_here(int fd, void *buffer, size_t length);
ssize_t read_there(int fd, void *buffer, size_t length, off_t offset);

#endif

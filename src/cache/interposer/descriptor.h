/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptor numbers and offsets, for our other files.
 */
#ifndef CACHE_INTERPOSER_DESCRIPTOR_H
#define CACHE_INTERPOSER_DESCRIPTOR_H

#include <sys/types.h>

int descriptor_close(int fd);
off_t descriptor_seek(int fd, off_t offset, int whence);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening, for our other files.
 */
#ifndef CACHE_INTERPOSER_OPEN_H
#define CACHE_INTERPOSER_OPEN_H

/* fd was just opened by this path and these flags: is it the cache's? */
void open_noticed(int fd, int folder, const char *path, int flags);

/* Descriptors that the program was started with. */
void open_inherited(void);

#endif

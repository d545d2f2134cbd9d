/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the name of an agent's socket means. A name that begins with a slash is a path, with %h in
 * it for the host's name: so one name does for all hosts, also where they share the folder. Any
 * other is abstract, gone with its owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CACHE_NAME_MAX 108 /* with its end */

/* Write the name into text with every %h replaced. False: it is too long. */
bool cache_name_expand(const char *name, char *text, size_t room);

/* False: the name is empty or too long. */
bool cache_name_address(const char *name, struct sockaddr_un *address, socklen_t *length);

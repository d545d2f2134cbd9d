/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a service of the cache is on a host: a folder for each user, which nobody else may enter,
 * in it one for each service by name, and in that the agent's socket. Whoever serves holds a lock
 * on the folder.
 */
#pragma once

#include "cache/address.h"

#define PLACE_NAME_MAX 32

struct settings;

struct place {
    char name[PLACE_NAME_MAX + 1];
    char top[CACHE_NAME_MAX];      /* the user's folder */
    char folder[CACHE_NAME_MAX];   /* the service's */
    char socket[CACHE_NAME_MAX];   /* what it is on this host */
    char variable[CACHE_NAME_MAX]; /* the same as programs are told, on every host */
    int lock_fd;                   /* -1: not ours */
};

/* What the settings say, or a service of that name beside it; touches nothing. RH_EINVALID: a name
 * or folder that cannot be. */
int place_find(struct place *place, const struct settings *settings, const char *name);

/* Make the folders and take the lock. RH_EREFUSED: another user's, or open to others; or a service
 * of this name runs here. */
int place_take(struct place *place);

/* Whether somebody serves there; also refuses, as above, what cannot be trusted: then an error that
 * has been explained. 1, 0, or RH_EREFUSED. */
int place_is_served(const struct place *place);

/* Remove what a service has left, if nobody serves there any more. */
void place_clean(const struct place *place);

/* We have the lock: remove everything, give it back. */
void place_leave(struct place *place);

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptions, and who may still be looking at them; see table.h.
 */
#pragma once

#include "cache/interposer/table.h"

/* Between these two, no description that could be found is used for another file. */
void pool_enter(void);
void pool_leave(void);

/* One that nobody else knows, or NULL. */
struct description *pool_take(void);

/* One that nobody else has ever known. */
void pool_give_back(struct description *description);

/* One that others may still be looking at. */
void pool_retire(struct description *description);

/* Only one thread is left, and it is not inside. */
void pool_forked(void);

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See array.h.
 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 8 /* items: the first few come one by one */

bool array_room_set(void *array, size_t count, size_t item_bytes)
{
    if (count > PTRDIFF_MAX / item_bytes)
        return false;
    void *items; /* copied, not cast: a `T *` must not be read as a `void *` */
    memcpy(&items, array, sizeof(items));
    items = realloc(items, count * item_bytes);
    if (!items)
        return false;
    memcpy(array, &items, sizeof(items));
    return true;
}

bool array_enlarge(void *array, size_t *room, size_t needed, size_t item_bytes)
{
    size_t wanted = *room < LEAST / 2 ? LEAST : 2 * *room;
    if (wanted < needed) /* or the double did not fit a number */
        wanted = needed;
    if (!array_room_set(array, wanted, item_bytes))
        return false;
    *room = wanted;
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names and meanings of the counters, which the layers have.
 */
#include "base/counters.h"

const struct counter_spec *counter_spec(unsigned which)
{
    const struct layer *layer = layer_of(which);
    bool is_there = layer && LAYER_AT(which) < layer->counter_count;
    return is_there ? &layer->counters[LAYER_AT(which)] : NULL;
}

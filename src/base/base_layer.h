/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the bottom has by name. Names and texts are in base_layer.c; see base/layer.h.
 */
#ifndef BASE_BASE_LAYER_H
#define BASE_BASE_LAYER_H

#include "base/layer.h"

enum base_settings { SETTING_LOG = LAYER_FIRST(LAYER_BASE) };

#endif

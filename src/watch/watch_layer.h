/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the watch has by name. Names and texts are in watch_layer.c; see base/layer.h.
 */
#ifndef WATCH_WATCH_LAYER_H
#define WATCH_WATCH_LAYER_H

#include "base/layer.h"

enum watch_settings { SETTING_STUCK = LAYER_FIRST(LAYER_WATCH) };

#endif

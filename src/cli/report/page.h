/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page, up to where its data begin and behind them; made from page/ by embed.py.
 */
#pragma once

#include <stddef.h>

extern const char page_before[], page_after[];
extern const size_t page_before_length, page_after_length;

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages up to where their data begin, and behind them; made from page/ by embed.py.
 */
#pragma once

#include <stddef.h>

/* Of `rhinet report`. */
extern const char report_page_before[], report_page_after[];
extern const size_t report_page_before_length, report_page_after_length;

/* Of `rhinet top --web`. */
extern const char live_page_before[], live_page_after[];
extern const size_t live_page_before_length, live_page_after_length;

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages for a browser: HTML with styles and scripts in it, made from page/ by embed.py, and data in
 * their midst.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

extern const unsigned char report_page_before[], report_page_after[]; /* `rhinet report` */
extern const size_t report_page_before_length, report_page_after_length;
extern const unsigned char live_page_before[], live_page_after[]; /* `rhinet top --web` */
extern const size_t live_page_before_length, live_page_after_length;

enum page { PAGE_REPORT, PAGE_LIVE };

/* What both have: title, and who made it when. */
json_t *page_data(const char *title);

/* false: it could not be written. */
bool page_write(enum page page, const json_t *data, FILE *out);

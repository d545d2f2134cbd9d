/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON files as this program's commands write them: one document, one a line, or a list. Each
 * document says in "format" what it is, "rhinet bench 1": a kind and its version. Time lines are
 * the exception: their format is that of the trace viewers.
 */
#pragma once

#include <jansson.h>

#define DOCUMENTS_LENGTH_MAX (64u << 20) /* of one file */

/* All documents of a file, {"file": PATH, "documents": [...]}. NULL after it has said what is
 * wrong, where, and what to do. */
json_t *documents_read(const char *path);

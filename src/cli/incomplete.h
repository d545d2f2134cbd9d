/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for what is printed ran out: tables and JSON lack something then, and go on. The program
 * says so when it ends, and its status is not 0: less must not look like all.
 */
#pragma once

/* Something is missing in what is printed. */
void incomplete_note(void);

/* The program's status, which is not 0 if something is missing; then it says so. */
int incomplete_status(int status);

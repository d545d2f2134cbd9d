/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes on by itself whenever somebody calls: progress.c.
 */
#ifndef MSG_PROGRESS_H
#define MSG_PROGRESS_H

#include "msg/mail.h"

/* Start a send: at once, or when there is room. */
void progress_send(struct mail *mail, struct rh_request *send);
/* Everything that can go on without waiting. Also for whoever waits for something else
 * meanwhile. */
void progress(struct mail *mail);
/* End a request that is not complete: take it off its list. */
void progress_abort(struct mail *mail, struct rh_request *request, int result);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How rhinet reports errors.
 *
 * Every call returns 0 (or a count) on success and a negative errno value on failure; errno itself
 * is never used, and outputs are written only on success. The values below are the ones a program
 * may want to tell apart; each means the same in every call. The sentence that explains the last
 * failure of the calling thread, with its values and the next step, is rh_error_text().
 */
#ifndef RHINET_ERROR_H
#define RHINET_ERROR_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define RH_EDEAD     (-ESRCH)      /* the peer died or left; rh_error_rank() names it */
#define RH_ENOSEG    (-ENOENT)     /* the peer has no segment with this SID */
#define RH_ESTALE    (-ESTALE)     /* the segment was there and has been detached */
#define RH_EBOUNDS   (-ERANGE)     /* offset and length do not lie inside the segment */
#define RH_ERIGHTS   (-EACCES)     /* the segment does not grant this kind of access */
#define RH_EEXIST    (-EEXIST)     /* this process already has a segment with this SID */
#define RH_EINVALID  (-EINVAL)     /* an argument makes no sense; the text says which */
#define RH_ETIMEOUT  (-ETIMEDOUT)  /* the deadline passed; nothing else is wrong */
#define RH_EAGAIN    (-EAGAIN)     /* full, or nothing there; try again */
#define RH_ENOSPACE  (-ENOSPC)     /* memory or a table is full; the text has the sizes */
#define RH_ETOOBIG   (-EMSGSIZE)   /* longer than this path carries */
#define RH_EUNSUP    (-EOPNOTSUPP) /* this NIC cannot do it */
#define RH_EREFUSED  (-EPERM)      /* the kernel or the task manager refused */
#define RH_ECORRUPT  (-EBADMSG)    /* data from a peer makes no sense */
#define RH_ECANCELED (-ECANCELED)  /* taken back before it happened */

/* The calling thread's last failure in one sentence, "" if there was none. The text stays valid
 * until the same thread's next failing call. Never NULL. */
const char *rh_error_text(void);

/* The rank that the calling thread's last failure was about, or -1 if it was about none. */
int rh_error_rank(void);

/* A few words for an error code, for messages where no text was kept. Never NULL. */
const char *rh_error_name(int code);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif

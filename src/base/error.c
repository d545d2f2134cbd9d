/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calling thread's last failure. Thread-local because rh_join() can fail before there is a job
 * to hang the text on, and because two threads may fail at once.
 */
#include "base/error.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct error_state last;

static void keep(int rank, const char *before, const char *format, va_list arguments)
{
    int used = snprintf(last.text, sizeof(last.text), "%s", before);
    vsnprintf(last.text + used, sizeof(last.text) - (size_t)used, format, arguments);
    last.rank = rank;
    last.was_set = true;
    log_debug("%s", last.text);
}

int error_set(int code, int rank, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(rank, "", format, arguments);
    va_end(arguments);
    return code;
}

int error_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(ERROR_NO_RANK, "", format, arguments);
    va_end(arguments);
    return code;
}

int error_no_memory(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(ERROR_NO_RANK, "no memory for ", format, arguments);
    va_end(arguments);
    return RH_ENOSPACE;
}

void error_save(struct error_state *state)
{
    *state = last;
}

void error_restore(const struct error_state *state)
{
    last = *state;
}

const char *rh_error_text(void)
{
    return last.text;
}

int rh_error_rank(void)
{
    return last.was_set ? last.rank : ERROR_NO_RANK;
}

static const struct {
    int code;
    const char *name;
} names[] = {
    {0, "success"},
    {RH_EDEAD, "peer died or left"},
    {RH_ENOSEG, "no such segment"},
    {RH_ESTALE, "segment was detached"},
    {RH_EBOUNDS, "outside the segment"},
    {RH_ERIGHTS, "segment does not grant this access"},
    {RH_EEXIST, "SID already in use"},
    {RH_EINVALID, "invalid argument"},
    {RH_ETIMEOUT, "timed out"},
    {RH_EAGAIN, "try again"},
    {RH_ENOSPACE, "no space left"},
    {RH_ETOOBIG, "too long"},
    {RH_EUNSUP, "not supported by this NIC"},
    {RH_EREFUSED, "refused"},
    {RH_ECORRUPT, "corrupt data from a peer"},
    {RH_ECANCELED, "cancelled"},
};

const char *rh_error_name(int code)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].code == code)
            return names[i].name;
    }
    const char *name = code < 0 && code > -4096 ? strerrordesc_np(-code) : NULL;
    return name ? name : "unknown error";
}

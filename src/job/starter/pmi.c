/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PMI-1 and PMI-2, the line protocols of MPICH's hydra and Slurm's pmi2 plugin, on the socket that
 * PMI_FD names. A request, an answer; both are "cmd=name" and fields, separated by blanks and ended
 * by a newline in PMI-1, separated by ';' and preceded by their length in PMI-2.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "job/starter/starter.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 2048
#define KEY_BYTES  64

struct pmi {
    int fd;
    int version;
    bool is_broken;  /* an exchange has failed: it is not asked again */
    char space[256]; /* PMI-1: name of the key-value space; PMI-2: of the job */
    char answer[LINE_BYTES];
};

static int broken(const char *why)
{
    return error_fail(
        RH_EREFUSED,
        "the launcher's PMI connection (PMI_FD) does not work: %s; RHINET_STARTER=alone runs "
        "without it",
        why);
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

static int wait_readable(const struct starter *starter, int fd)
{
    int64_t deadline_ns = clock_deadline_ns(starter->timeout_ns);
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int left_ms = deadline_left_ms(deadline_ns, clock_now_ns());
        if (left_ms == 0)
            return broken("no answer in time (RHINET_TIMEOUT)");
        int count = poll(&ready, 1, left_ms);
        if (count > 0)
            return 0;
        if (count < 0 && errno != EINTR)
            return broken(strerror(errno));
    }
}

static int read_some(const struct starter *starter, char *data, size_t length)
{
    const struct pmi *pmi = starter->context;
    int result = wait_readable(starter, pmi->fd);
    if (result < 0)
        return result;
    ssize_t got = read(pmi->fd, data, length);
    if (got < 0 && errno == EINTR)
        return 0;
    return got > 0 ? (int)got : broken(got < 0 ? strerror(errno) : "it is closed");
}

static int read_exactly(const struct starter *starter, char *data, size_t length)
{
    size_t done = 0;
    while (done < length) {
        int got = read_some(starter, data + done, length - done);
        if (got < 0)
            return got;
        done += (size_t)got;
    }
    return 0;
}

/* Byte by byte, since the first answers of PMI-2 are lines, too. Few and short. */
static int read_line(struct starter *starter)
{
    struct pmi *pmi = starter->context;
    for (size_t used = 0; used + 1 < sizeof(pmi->answer); used++) {
        int result = read_exactly(starter, &pmi->answer[used], 1);
        if (result < 0)
            return result;
        if (pmi->answer[used] == '\n') {
            pmi->answer[used] = '\0';
            return 0;
        }
    }
    return broken("an answer is too long");
}

static int read_counted(struct starter *starter)
{
    struct pmi *pmi = starter->context;
    char digits[7] = "";
    uint64_t length;
    int result = read_exactly(starter, digits, 6);
    if (result < 0)
        return result;
    if (!text_to_u64(digits + strspn(digits, " "), &length) || length >= sizeof(pmi->answer))
        return broken("an answer makes no sense");
    result = read_exactly(starter, pmi->answer, length);
    pmi->answer[length] = '\0';
    return result;
}

static int write_all(const struct pmi *pmi, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(pmi->fd, data, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return broken(strerror(errno));
        data += sent;
        length -= (size_t)sent;
    }
    return 0;
}

/* ---- Requests and answers ------------------------------------------------------------------- */

/* Value of a field of the answer, up to its end. */
static bool field(const struct pmi *pmi, bool is_line, const char *name, char *value, size_t room)
{
    const char *between = is_line ? " " : ";";
    size_t name_length = strlen(name);
    for (const char *at = pmi->answer; *at; at += strspn(at, between)) {
        size_t length = strcspn(at, between);
        if (strncmp(at, name, name_length) == 0 && at[name_length] == '=') {
            size_t value_length = length - name_length - 1;
            if (value_length >= room)
                return false;
            memcpy(value, at + name_length + 1, value_length);
            value[value_length] = '\0';
            return true;
        }
        at += length;
    }
    return false;
}

static int check(const struct pmi *pmi, bool is_line, const char *command)
{
    char said[KEY_BYTES] = "";
    char code[16] = "0";
    field(pmi, is_line, "rc", code, sizeof(code));
    if (!field(pmi, is_line, "cmd", said, sizeof(said)) || strcmp(said, command) != 0 ||
        strcmp(code, "0") != 0) {
        char text[160];
        snprintf(text, sizeof(text), "it answers \"%.100s\"", pmi->answer);
        return broken(text);
    }
    return 0;
}

static int exchange(struct starter *starter, const char *request, size_t length, bool is_line)
{
    struct pmi *pmi = starter->context;
    int result = write_all(pmi, request, length);
    if (result == 0)
        result = is_line ? read_line(starter) : read_counted(starter);
    pmi->is_broken = result < 0;
    return result;
}

/* A line, and the answer's command that it must bring. */
static int ask_line(struct starter *starter, const char *expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int ask_line(struct starter *starter, const char *expected, const char *format, ...)
{
    struct pmi *pmi = starter->context;
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    int result = exchange(starter, line, (size_t)length, true);
    return result == 0 ? check(pmi, true, expected) : result;
}

static int ask_counted(struct starter *starter, const char *expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int ask_counted(struct starter *starter, const char *expected, const char *format, ...)
{
    struct pmi *pmi = starter->context;
    char text[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + 6, sizeof(text) - 6, format, arguments);
    va_end(arguments);
    char digits[8];
    snprintf(digits, sizeof(digits), "%6d", length);
    memcpy(text, digits, 6);
    int result = exchange(starter, text, (size_t)length + 6, false);
    return result == 0 ? check(pmi, false, expected) : result;
}

/* ---- Version 1 ------------------------------------------------------------------------------ */

static void full_key(char text[KEY_BYTES], int rank, const char *key)
{
    snprintf(text, KEY_BYTES, "%s-%d", key, rank); /* one space for all ranks */
}

static int pmi1_put(struct starter *starter, const char *key, const char *value)
{
    struct pmi *pmi = starter->context;
    char own[KEY_BYTES];
    full_key(own, starter->rank, key);
    return ask_line(starter, "put_result", "cmd=put kvsname=%s key=%s value=%s", pmi->space, own,
                    value);
}

static int pmi1_fence(struct starter *starter)
{
    return ask_line(starter, "barrier_out", "cmd=barrier_in");
}

static int pmi1_get(struct starter *starter, int rank, const char *key,
                    char value[STARTER_VALUE_MAX])
{
    struct pmi *pmi = starter->context;
    char theirs[KEY_BYTES];
    full_key(theirs, rank, key);
    int result = ask_line(starter, "get_result", "cmd=get kvsname=%s key=%s", pmi->space, theirs);
    if (result == 0 && !field(pmi, true, "value", value, STARTER_VALUE_MAX))
        result = broken("a value is missing");
    return result;
}

static void pmi1_finalize(struct starter *starter)
{
    struct pmi *pmi = starter->context;
    if (!starter->is_shared) {
        if (!pmi->is_broken) /* or its failure would hide the first one */
            ask_line(starter, "finalize_ack", "cmd=finalize");
        close(pmi->fd);
    }
    free(pmi);
}

static const struct starter_ops pmi1_ops = {.name = "PMI-1",
                                            .put = pmi1_put,
                                            .fence = pmi1_fence,
                                            .get = pmi1_get,
                                            .finalize = pmi1_finalize};

/* ---- Version 2 ------------------------------------------------------------------------------ */

static int pmi2_put(struct starter *starter, const char *key, const char *value)
{
    char own[KEY_BYTES];
    full_key(own, starter->rank, key);
    return ask_counted(starter, "kvs-put-response", "cmd=kvs-put;key=%s;value=%s;", own, value);
}

static int pmi2_fence(struct starter *starter)
{
    return ask_counted(starter, "kvs-fence-response", "cmd=kvs-fence;");
}

static int pmi2_get(struct starter *starter, int rank, const char *key,
                    char value[STARTER_VALUE_MAX])
{
    struct pmi *pmi = starter->context;
    char theirs[KEY_BYTES];
    full_key(theirs, rank, key);
    int result = ask_counted(starter, "kvs-get-response", "cmd=kvs-get;jobid=%s;srcid=-1;key=%s;",
                             pmi->space, theirs);
    if (result == 0 && !field(pmi, false, "value", value, STARTER_VALUE_MAX))
        result = broken("a value is missing");
    return result;
}

static void pmi2_finalize(struct starter *starter)
{
    struct pmi *pmi = starter->context;
    if (!starter->is_shared) {
        if (!pmi->is_broken)
            ask_counted(starter, "finalize-response", "cmd=finalize;");
        close(pmi->fd);
    }
    free(pmi);
}

static const struct starter_ops pmi2_ops = {.name = "PMI-2",
                                            .put = pmi2_put,
                                            .fence = pmi2_fence,
                                            .get = pmi2_get,
                                            .finalize = pmi2_finalize};

/* ---- Beginning ------------------------------------------------------------------------------ */

static bool environment_number(const char *name, int *number)
{
    uint64_t value;
    const char *text = getenv(name);
    if (!text || !text_to_u64(text, &value) || value > INT_MAX)
        return false;
    *number = (int)value;
    return true;
}

static int begin(struct starter *starter)
{
    struct pmi *pmi = starter->context;
    int result = ask_line(starter, "response_to_init", "cmd=init pmi_version=%d pmi_subversion=%d",
                          pmi->version, pmi->version == 1);
    if (result < 0)
        return result;
    if (pmi->version == 1) {
        result = ask_line(starter, "my_kvsname", "cmd=get_my_kvsname");
        if (result == 0 && !field(pmi, true, "kvsname", pmi->space, sizeof(pmi->space)))
            result = broken("it has no key-value space");
        return result;
    }
    const char *job = getenv("PMI_JOBID");
    snprintf(pmi->space, sizeof(pmi->space), "%s", job ? job : "");
    return ask_counted(starter, "fullinit-response",
                       "cmd=fullinit;pmijobid=%s;pmirank=%d;threaded=FALSE;", pmi->space,
                       starter->rank);
}

int starter_pmi_open(struct starter *starter, int version)
{
    struct pmi *pmi = calloc(1, sizeof(*pmi));
    if (!pmi)
        return error_no_memory("PMI");
    starter->context = pmi;
    starter->ops = version == 1 ? &pmi1_ops : &pmi2_ops;
    pmi->version = version;
    int result = 0;
    if (!environment_number("PMI_FD", &pmi->fd) ||
        !environment_number("PMI_RANK", &starter->rank) ||
        !environment_number("PMI_SIZE", &starter->size) || starter->rank >= starter->size)
        result = broken("PMI_FD, PMI_RANK or PMI_SIZE is missing or makes no sense");
    if (result == 0)
        result = begin(starter);
    if (result < 0)
        free(pmi);
    return result;
}

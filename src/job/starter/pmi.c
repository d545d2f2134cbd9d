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
    bool is_line;    /* PMI-1, and how PMI-2 begins */
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
static bool field(const struct pmi *pmi, const char *name, char *value, size_t room)
{
    const char *between = pmi->is_line ? " " : ";";
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

static int check(const struct pmi *pmi, const char *command)
{
    char said[KEY_BYTES] = "";
    char code[16] = "0";
    field(pmi, "rc", code, sizeof(code));
    if (!field(pmi, "cmd", said, sizeof(said)) || strcmp(said, command) != 0 ||
        strcmp(code, "0") != 0) {
        char text[160];
        snprintf(text, sizeof(text), "it answers \"%.100s\"", pmi->answer);
        return broken(text);
    }
    return 0;
}

/* A request, and the answer's command that it must bring. */
static int ask(struct starter *starter, const char *expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int ask(struct starter *starter, const char *expected, const char *format, ...)
{
    struct pmi *pmi = starter->context;
    char text[LINE_BYTES], digits[8];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + 6, sizeof(text) - 7, format, arguments);
    va_end(arguments);
    snprintf(digits, sizeof(digits), "%6d", length);
    memcpy(text, digits, 6);
    text[6 + length] = '\n';
    int result = pmi->is_line ? write_all(pmi, text + 6, (size_t)length + 1)
                              : write_all(pmi, text, (size_t)length + 6);
    if (result == 0)
        result = pmi->is_line ? read_line(starter) : read_counted(starter);
    pmi->is_broken = result < 0;
    return result == 0 ? check(pmi, expected) : result;
}

/* ---- What a starter does -------------------------------------------------------------------- */

static void full_key(char text[KEY_BYTES], int rank, const char *key)
{
    snprintf(text, KEY_BYTES, "%s-%d", key, rank); /* one space for all ranks */
}

static int put(struct starter *starter, const char *key, const char *value)
{
    struct pmi *pmi = starter->context;
    char own[KEY_BYTES];
    full_key(own, starter->rank, key);
    return pmi->version == 1
               ? ask(starter, "put_result", "cmd=put kvsname=%s key=%s value=%s", pmi->space, own,
                     value)
               : ask(starter, "kvs-put-response", "cmd=kvs-put;key=%s;value=%s;", own, value);
}

static int fence(struct starter *starter)
{
    const struct pmi *pmi = starter->context;
    return pmi->version == 1 ? ask(starter, "barrier_out", "cmd=barrier_in")
                             : ask(starter, "kvs-fence-response", "cmd=kvs-fence;");
}

static int get(struct starter *starter, int rank, const char *key, char value[STARTER_VALUE_MAX])
{
    struct pmi *pmi = starter->context;
    char theirs[KEY_BYTES];
    full_key(theirs, rank, key);
    int result = pmi->version == 1
                     ? ask(starter, "get_result", "cmd=get kvsname=%s key=%s", pmi->space, theirs)
                     : ask(starter, "kvs-get-response", "cmd=kvs-get;jobid=%s;srcid=-1;key=%s;",
                           pmi->space, theirs);
    if (result == 0 && !field(pmi, "value", value, STARTER_VALUE_MAX))
        result = broken("a value is missing");
    return result;
}

static void finalize(struct starter *starter)
{
    struct pmi *pmi = starter->context;
    if (!starter->is_shared) {
        if (pmi->version == 1 && !pmi->is_broken) /* or its failure would hide the first one */
            ask(starter, "finalize_ack", "cmd=finalize");
        else if (!pmi->is_broken)
            ask(starter, "finalize-response", "cmd=finalize;");
        close(pmi->fd);
    }
    free(pmi);
}

static const struct starter_ops versions[] = {
    {.name = "PMI-1", .put = put, .fence = fence, .get = get, .finalize = finalize},
    {.name = "PMI-2", .put = put, .fence = fence, .get = get, .finalize = finalize}};

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
    pmi->is_line = true;
    int result = ask(starter, "response_to_init", "cmd=init pmi_version=%d pmi_subversion=%d",
                     pmi->version, pmi->version == 1);
    pmi->is_line = pmi->version == 1;
    if (result < 0)
        return result;
    if (pmi->version == 1) {
        result = ask(starter, "my_kvsname", "cmd=get_my_kvsname");
        if (result == 0 && !field(pmi, "kvsname", pmi->space, sizeof(pmi->space)))
            result = broken("it has no key-value space");
        return result;
    }
    const char *job = getenv("PMI_JOBID");
    snprintf(pmi->space, sizeof(pmi->space), "%s", job ? job : "");
    return ask(starter, "fullinit-response", "cmd=fullinit;pmijobid=%s;pmirank=%d;threaded=FALSE;",
               pmi->space, starter->rank);
}

int starter_pmi_open(struct starter *starter, int version)
{
    struct pmi *pmi = calloc(1, sizeof(*pmi));
    if (!pmi)
        return error_no_memory("PMI");
    starter->context = pmi;
    starter->ops = &versions[version - 1];
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

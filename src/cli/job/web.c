/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See web.h. libmicrohttpd reads the requests, in a thread of its own; what it answers was made by
 * the thread that looks at the job.
 */
#include "cli/job/web.h"

#include "base/clock.h"
#include "cli/cache/cache.h"
#include "cli/cli.h"
#include "cli/job/doctor.h"
#include "cli/job/metrics.h"
#include "cli/json_put.h"
#include "cli/report/report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_BYTES     16
#define TOKEN_TEXT      (2 * TOKEN_BYTES + 1)
#define CONNECTIONS_MAX 32
#define CONNECTION_TIME 10 /* seconds without a byte after which one is closed */
#define LAST_WORD_NS    (2 * NS_PER_S)
#define FILES_SHOWN     5
#define LOOK_NS         NS_PER_S
#define BEARER          "Bearer "

enum { ANSWER_PAGE, ANSWER_STATE, ANSWER_METRICS, ANSWERS };

static const struct {
    const char *path, *type;
} answers[ANSWERS] = {[ANSWER_PAGE] = {"/", "text/html; charset=utf-8"},
                      [ANSWER_STATE] = {"/state", "application/json"},
                      [ANSWER_METRICS] = {"/metrics", "text/plain; version=0.0.4"}};

struct web {
    struct MHD_Daemon *daemon;
    char token[TOKEN_TEXT];
    char address[128], host[32];
    pthread_mutex_t lock; /* of what follows */
    char *text[ANSWERS];  /* NULL: there is none yet */
    bool has_ended;
    /* Of the thread that looks at the job: */
    uint64_t number;  /* of the sample */
    json_t *waits;    /* what the doctor has said last */
    int64_t look_ns;  /* when it looks again */
    int64_t stuck_ns; /* how old a wait must be to count as stuck */
};

/* ---- Answers -------------------------------------------------------------------------------- */

static enum MHD_Result say(struct MHD_Connection *connection, unsigned code, const char *type,
                           const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)text,
                                                                    MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *said)
{
    return say(connection, code, "text/plain", said);
}

static bool is_token(const struct web *web, const char *given)
{
    return given && strlen(given) == TOKEN_TEXT - 1 &&
           sodium_memcmp(given, web->token, TOKEN_TEXT - 1) == 0;
}

static bool knows_token(const struct web *web, struct MHD_Connection *connection)
{
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    if (header && strncmp(header, BEARER, strlen(BEARER)) == 0)
        return is_token(web, header + strlen(BEARER));
    return is_token(web, MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"));
}

/* By number or as localhost; any other name was made to lead here by somebody. */
static bool is_our_host(struct web *web, struct MHD_Connection *connection)
{
    char local[32];
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    pthread_mutex_lock(&web->lock);
    snprintf(local, sizeof(local), "localhost%s", strchr(web->host, ':'));
    pthread_mutex_unlock(&web->lock);
    return host && (strcmp(host, web->host) == 0 || strcmp(host, local) == 0);
}

static enum MHD_Result answer_with(struct web *web, struct MHD_Connection *connection, int which)
{
    enum MHD_Result result;
    pthread_mutex_lock(&web->lock);
    if (web->has_ended && which != ANSWER_PAGE)
        result = refuse(connection, MHD_HTTP_GONE, "the job has ended\n");
    else if (!web->text[which])
        result = say(connection, MHD_HTTP_NO_CONTENT, answers[which].type, ""); /* not yet */
    else
        result = say(connection, MHD_HTTP_OK, answers[which].type, web->text[which]);
    pthread_mutex_unlock(&web->lock);
    return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *body_length, void **state)
{
    struct web *web = context;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
    if (!is_our_host(web, connection) || !knows_token(web, connection))
        return refuse(connection, MHD_HTTP_FORBIDDEN,
                      "wrong or no token: use the address that rhinet top --web has printed\n");
    for (int i = 0; i < ANSWERS; i++) {
        if (strcmp(path, answers[i].path) == 0)
            return answer_with(web, connection, i);
    }
    return refuse(connection, MHD_HTTP_NOT_FOUND, "there are /, /state and /metrics\n");
}

/* ---- What they say -------------------------------------------------------------------------- */

static char *page_text(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    json_t *data = page_data("rhinet top");
    page_write(PAGE_LIVE, data, out);
    json_decref(data);
    fclose(out);
    return text;
}

/* Looked at once a second at most: it takes two looks with a pause between them. */
static json_t *waits_json(struct web *web, const struct live_job *job,
                          const struct job_snapshot *snapshot)
{
    if (web->waits && clock_now_ns() < web->look_ns)
        return json_incref(web->waits);
    struct diagnosis *diagnosis = doctor_examine(job);
    struct doctor_findings findings = {snapshot, diagnosis, web->stuck_ns};
    json_decref(web->waits);
    web->waits = diagnosis && diagnosis->size == snapshot->size ? doctor_json(&findings)
                                                                : json_null();
    web->look_ns = clock_deadline_ns(LOOK_NS);
    free(diagnosis);
    return json_incref(web->waits);
}

static void replace(struct web *web, int which, char *text)
{
    char *old = web->text[which];
    web->text[which] = text;
    free(old);
}

void web_show(struct web *web, const struct live_job *job, const struct top_sample *sample)
{
    json_t *state = json_object();
    json_put_number(state, "number", ++web->number);
    json_object_set_new(state, "sample", top_json(sample));
    json_object_set_new(state, "doctor", waits_json(web, job, sample->now));
    json_object_set_new(state, "cache", cache_stats_json(FILES_SHOWN));
    char *state_text = json_dumps(state, JSON_COMPACT | JSON_REAL_PRECISION(9));
    char *metrics = metrics_text(sample->now);
    json_decref(state);
    pthread_mutex_lock(&web->lock);
    replace(web, ANSWER_STATE, state_text);
    replace(web, ANSWER_METRICS, metrics);
    pthread_mutex_unlock(&web->lock);
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

/* Under the lock: who asks at once must find the address. */
static int listen_at(struct web *web, uint16_t port)
{
    struct sockaddr_in place = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    web->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC, port, NULL, NULL,
                                   answer, web, MHD_OPTION_SOCK_ADDR, &place,
                                   MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                                   MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_TIME, MHD_OPTION_END);
    if (!web->daemon) {
        cli_say("cannot listen on 127.0.0.1:%u: %s", port, strerror(errno));
        return -1;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(web->daemon, MHD_DAEMON_INFO_BIND_PORT);
    snprintf(web->host, sizeof(web->host), "127.0.0.1:%u", info->port);
    snprintf(web->address, sizeof(web->address), "http://%s/?token=%s", web->host, web->token);
    return 0;
}

struct web *web_open(uint16_t port, int64_t stuck_ns)
{
    uint8_t random[TOKEN_BYTES];
    struct web *web = calloc(1, sizeof(*web));
    if (!web || sodium_init() < 0) {
        cli_say("no memory");
        free(web);
        return NULL;
    }
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(web->token, sizeof(web->token), random, sizeof(random));
    web->stuck_ns = stuck_ns;
    pthread_mutex_init(&web->lock, NULL);
    web->text[ANSWER_PAGE] = page_text();
    pthread_mutex_lock(&web->lock);
    int result = listen_at(web, port);
    pthread_mutex_unlock(&web->lock);
    if (result < 0) {
        web_close(web, false);
        return NULL;
    }
    return web;
}

const char *web_address(const struct web *web)
{
    return web->address;
}

void web_close(struct web *web, bool has_ended)
{
    struct timespec moment = {LAST_WORD_NS / NS_PER_S, LAST_WORD_NS % NS_PER_S};
    if (!web)
        return;
    pthread_mutex_lock(&web->lock);
    web->has_ended = has_ended;
    pthread_mutex_unlock(&web->lock);
    if (web->daemon && has_ended)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    if (web->daemon)
        MHD_stop_daemon(web->daemon);
    for (int i = 0; i < ANSWERS; i++)
        free(web->text[i]);
    json_decref(web->waits);
    pthread_mutex_destroy(&web->lock);
    free(web);
}

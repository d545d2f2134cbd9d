/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine: the process's job and mailbox, what arrives there, and progress.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "provider/op.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define GONE_EVERY 256 /* looks between two looks for peers that are gone */

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct engine *the_engine;
static _Thread_local bool is_opening;

bool engine_is_opening(void)
{
    return is_opening;
}

/* ---- Arrivals ------------------------------------------------------------------------------- */

/* Who asks hears that nobody is there. */
static void answer_closed(struct engine *engine, const struct parcel *parcel)
{
    struct message_envelope message;
    struct memory_envelope memory;
    bool is_message = label_subject(parcel->label) <= SUBJECT_PLAIN;
    uint32_t number = 0;
    if (is_message && parcel->length >= sizeof(message)) {
        memcpy(&message, parcel->data, sizeof(message));
        number = message.number;
    } else if (!is_message && parcel->length >= sizeof(memory)) {
        memcpy(&memory, parcel->data, sizeof(memory));
        number = memory.number;
    }
    answer_out(engine, place_of(parcel->source, label_from(parcel->label)), parcel->label, number,
               ERROR_CLOSED);
}

/* For a port that is closed. A long one's sender waits until somebody has taken it. */
static bool drop(struct engine *engine, const struct parcel *parcel)
{
    struct op *op = parcel->is_long ? op_make_ours(engine, OP_DROP) : NULL;
    if (parcel->is_long && !op)
        return false;
    if (parcel->label & (LABEL_ASKS | LABEL_FETCHES))
        answer_closed(engine, parcel);
    if (op)
        parcel_fetch(engine->mail, &op->request, parcel->source, &parcel->rts);
    return true;
}

static void taken(struct engine *engine, const struct parcel *parcel)
{
    struct answer_envelope envelope;
    if (parcel->length < sizeof(envelope))
        return;
    memcpy(&envelope, parcel->data, sizeof(envelope));
    struct op *op = op_awaited(engine, envelope.number);
    if (!op || op->kind != OP_SEND || !op_is_answered_by(op, parcel))
        return;
    op_await_end(engine, op);
    op->is_answered = true;
    op->error = envelope.error;
    op_send_step(op);
}

static void held(struct engine *engine, const struct parcel *parcel)
{
    struct answer_envelope envelope;
    if (parcel->length < sizeof(envelope))
        return;
    memcpy(&envelope, parcel->data, sizeof(envelope));
    hold_arrive(engine, parcel->source, envelope.number != 0);
}

static bool arrive(void *context, const struct parcel *parcel)
{
    struct engine *engine = context;
    struct endpoint *endpoint = engine->port[label_to(parcel->label)];
    enum subject subject = label_subject(parcel->label);
    if (unlikely(subject == SUBJECT_TAKEN || subject == SUBJECT_HOLD)) {
        (subject == SUBJECT_TAKEN ? taken : held)(engine, parcel);
        return true;
    }
    if (unlikely(!endpoint))
        return drop(engine, parcel);
    if (likely(subject == SUBJECT_TAGGED || subject == SUBJECT_PLAIN))
        return message_arrive(endpoint, parcel);
    if (likely(subject <= SUBJECT_ANSWER))
        return memory_arrive(endpoint, parcel);
    return drop(engine, parcel);
}

/* ---- Progress ------------------------------------------------------------------------------- */

static void end_gone(struct engine *engine)
{
    const struct mail *mail = engine->mail;
    int rank = 0, count = rma_used(engine->job);
    bool is_any_gone = false;
    engine->deaths_seen = mail->deaths_seen;
    for (; rank < count; rank++) {
        if (rank == mail->rank || !mail->peer[rank].is_gone)
            continue;
        is_any_gone = true;
        hold_gone(engine, rank);
    }
    if (is_any_gone)
        op_gone_end(engine);
}

static inline void look_for_gone(struct engine *engine)
{
    const struct mail *mail = engine->mail;
    if (unlikely(mail->looks % GONE_EVERY == 0 || mail->deaths_seen != engine->deaths_seen))
        end_gone(engine);
}

static inline void end_requests(struct engine *engine)
{
    struct rh_request *request;
    while (unlikely((request = parcels_over(engine->mail->parcels)) != NULL))
        op_request_over(engine, (struct op *)request);
}

void engine_progress(struct engine *engine)
{
    struct mail *mail = engine->mail;
    if (unlikely(engine->is_polled))
        rma_progress(engine->job);
    parcels_progress(mail);
    end_requests(engine);
    look_for_gone(engine);
}

void engine_look(struct engine *engine)
{
    if (unlikely(engine->is_polled)) {
        engine_progress(engine);
        return;
    }
    bool is_at_all = parcels_look(engine->mail);
    end_requests(engine);
    if (unlikely(is_at_all))
        look_for_gone(engine);
}

#define LOOKS_BEFORE_SLEEP 256 /* from then on others must wake us */

void engine_tell(const struct engine *engine)
{
    if (unlikely(engine->mail->waiters > 0))
        rh_wake(engine->job, engine->mail->rank);
}

struct waiting {
    struct engine *engine;
    uint32_t looks;
    bool (*is_met)(void *context);
    void *context;
};

static bool look(void *context)
{
    struct waiting *waiting = context;
    engine_take(waiting->engine);
    if (unlikely(++waiting->looks == LOOKS_BEFORE_SLEEP))
        waiting->engine->mail->waiters++;
    bool is_met = waiting->is_met(waiting->context);
    if (!is_met) {
        engine_progress(waiting->engine);
        is_met = waiting->is_met(waiting->context);
    }
    engine_give(waiting->engine);
    return is_met;
}

int engine_wait(struct engine *engine, bool (*is_met)(void *context), void *context, int timeout)
{
    struct waiting waiting = {.engine = engine, .is_met = is_met, .context = context};
    /* Nobody's end ends it: the operations of those who are gone are. */
    struct rh_until until = {.is_met = look,
                             .context = &waiting,
                             .from = engine->mail->rank,
                             .timeout_ns = timeout < 0 ? RH_TIMEOUT_LONGEST
                                                       : (int64_t)timeout * NS_PER_MS};
    if (engine->program)
        engine->program->enter();
    int result = rh_wait_until(engine->job, &until);
    if (engine->program)
        engine->program->leave();
    if (waiting.looks >= LOOKS_BEFORE_SLEEP) {
        engine_take(engine);
        engine->mail->waiters--;
        engine_give(engine);
    }
    return result == 0 ? 0 : -FI_EAGAIN;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static int open_mailbox(struct engine *engine)
{
    int result = rh_msg_open(&engine->msg, engine->job);
    if (result < 0)
        return result;
    engine->mail = engine->msg->mail;
    engine->is_polled = strcmp(rh_nic_name(engine->job), "shm") != 0;
    engine->program = dlsym(RTLD_DEFAULT, VIRTUAL_NAME);
    result = hold_open(engine) ? parcels_open(engine->mail, arrive, engine)
                               : error_no_memory("peers");
    if (result < 0) {
        free(engine->holds);
        rh_msg_close(engine->msg);
    }
    return result;
}

/* Without a launcher: the user's open job, whose processes find each other by their addresses; or
 * alone, if that cannot be had. */
static int join(struct rh_job **job)
{
    struct rh_join_options options = {.struct_size = sizeof(options),
                                      .unstarted = RH_UNSTARTED_OPEN};
    int result = rh_join(job, &options);
    if (result != RH_EUNSUP)
        return result;
    log_warning("libfabric provider rhinet: no open job, so this process is alone: %s",
                rh_error_text());
    return rh_join(job, NULL);
}

static int open_engine(struct engine **made)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return -FI_ENOMEM;
    is_opening = true;
    int result = join(&engine->job);
    if (result == 0) {
        result = open_mailbox(engine);
        if (result < 0)
            rh_leave(engine->job);
    }
    is_opening = false;
    if (result < 0) {
        log_error("libfabric provider rhinet: %s", rh_error_text());
        free(engine);
        return -fi_error(result);
    }
    log_info("libfabric provider rhinet: rank %d of %d, NIC %s", rh_rank(engine->job),
             rh_size(engine->job), rh_nic_name(engine->job));
    *made = engine;
    return 0;
}

int engine_open(struct engine **engine)
{
    int result = 0;
    pthread_mutex_lock(&opening);
    if (!the_engine)
        result = open_engine(&the_engine);
    if (result == 0) {
        the_engine->users++;
        *engine = the_engine;
    }
    pthread_mutex_unlock(&opening);
    return result;
}

void engine_close(struct engine *engine)
{
    pthread_mutex_lock(&opening);
    if (--engine->users == 0) {
        rh_msg_close(engine->msg);
        rh_leave(engine->job);
        ops_close(engine);
        free(engine->holds);
        free(engine);
        the_engine = NULL;
    }
    pthread_mutex_unlock(&opening);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters of completions. Reading one makes progress.
 */
#include "provider/op.h"

#include <stdlib.h>

static struct counter *counter_of(struct fid_cntr *cntr)
{
    return (struct counter *)cntr;
}

void counter_step(struct counter *counter, bool is_error)
{
    if (likely(!counter))
        return;
    *(is_error ? &counter->errors : &counter->value) += 1;
    signal_raise(&counter->signal);
}

static uint64_t read_word(struct counter *counter, const uint64_t *word)
{
    engine_take(counter->engine);
    engine_progress(counter->engine);
    uint64_t value = *word;
    counter->value_seen = counter->value;
    counter->errors_seen = counter->errors;
    signal_lower(&counter->signal);
    engine_give(counter->engine);
    return value;
}

static uint64_t read_value(struct fid_cntr *cntr)
{
    return read_word(counter_of(cntr), &counter_of(cntr)->value);
}

static uint64_t read_errors(struct fid_cntr *cntr)
{
    return read_word(counter_of(cntr), &counter_of(cntr)->errors);
}

static int change(struct counter *counter, uint64_t *word, uint64_t value, bool is_added)
{
    engine_take(counter->engine);
    *word = is_added ? *word + value : value;
    signal_raise(&counter->signal);
    engine_give(counter->engine);
    rh_wake(counter->engine->job, counter->engine->mail->rank); /* another thread may wait */
    return 0;
}

static int add_value(struct fid_cntr *cntr, uint64_t value)
{
    return change(counter_of(cntr), &counter_of(cntr)->value, value, true);
}

static int set_value(struct fid_cntr *cntr, uint64_t value)
{
    return change(counter_of(cntr), &counter_of(cntr)->value, value, false);
}

static int add_errors(struct fid_cntr *cntr, uint64_t value)
{
    return change(counter_of(cntr), &counter_of(cntr)->errors, value, true);
}

static int set_errors(struct fid_cntr *cntr, uint64_t value)
{
    return change(counter_of(cntr), &counter_of(cntr)->errors, value, false);
}

struct counting {
    const struct counter *counter;
    uint64_t least, errors;
};

static bool is_enough(void *context)
{
    const struct counting *counting = context;
    return counting->counter->value >= counting->least ||
           counting->counter->errors != counting->errors;
}

static int wait_value(struct fid_cntr *cntr, uint64_t threshold, int timeout)
{
    struct counter *counter = counter_of(cntr);
    struct counting counting = {.counter = counter, .least = threshold};
    engine_take(counter->engine);
    counting.errors = counter->errors;
    engine_give(counter->engine);
    if (engine_wait(counter->engine, is_enough, &counting, timeout) < 0)
        return -FI_ETIMEDOUT;
    engine_take(counter->engine);
    bool is_met = counter->value >= threshold;
    engine_give(counter->engine);
    return is_met ? 0 : -FI_EAVAIL;
}

static struct fi_ops_cntr counter_calls = {
    .size = sizeof(struct fi_ops_cntr),
    .read = read_value,
    .readerr = read_errors,
    .add = add_value,
    .set = set_value,
    .wait = wait_value,
    .adderr = add_errors,
    .seterr = set_errors,
};

static int close_counter(struct fid *fid)
{
    struct counter *counter = (struct counter *)fid;
    if (counter->users > 0)
        return -FI_EBUSY;
    signal_close(&counter->signal, counter->engine, fid);
    counter->domain->users--;
    free(counter);
    return 0;
}

static int control_counter(struct fid *fid, int command, void *argument)
{
    return signal_get(&((struct counter *)fid)->signal, command, argument);
}

static struct fi_ops counter_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_counter,
    .bind = no_bind,
    .control = control_counter,
    .ops_open = no_ops_open,
};

int counter_open(struct fid_domain *fid, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
                 void *context)
{
    struct domain *domain = (struct domain *)fid;
    if (attr && attr->events != FI_CNTR_EVENTS_COMP)
        return -FI_EINVAL;
    struct counter *counter = calloc(1, sizeof(*counter));
    if (!counter)
        return -FI_ENOMEM;
    int result = signal_open(&counter->signal, domain->engine, attr ? attr->wait_obj : FI_WAIT_NONE,
                             attr ? attr->wait_set : NULL, &counter->fid.fid);
    if (result < 0) {
        free(counter);
        return result;
    }
    counter->fid = (struct fid_cntr){
        .fid = {.fclass = FI_CLASS_CNTR, .context = context, .ops = &counter_fid_calls},
        .ops = &counter_calls};
    counter->engine = domain->engine;
    counter->domain = domain;
    domain->users++;
    *cntr = &counter->fid;
    return 0;
}

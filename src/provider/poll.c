/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Poll sets: which of several queues and counters have something.
 */
#include "provider/op.h"

#include <stdlib.h>

#define MEMBERS_MAX 64

struct poll_set {
    struct fid_poll fid;
    struct domain *domain;
    struct fid *member[MEMBERS_MAX];
    int count;
};

/* A counter has something if it has changed since this was asked last. */
static bool has_something(struct fid *fid)
{
    struct queue *queue = (struct queue *)fid;
    struct counter *counter = (struct counter *)fid;
    if (fid->fclass == FI_CLASS_CQ)
        return queue->head != queue->tail || queue->is_overrun;
    bool has = counter->value != counter->value_polled;
    counter->value_polled = counter->value;
    return has;
}

static int poll_members(struct fid_poll *fid, void **context, int count)
{
    struct poll_set *set = (struct poll_set *)fid;
    int found = 0;
    engine_take(set->domain->engine);
    engine_progress(set->domain->engine);
    for (int i = 0; i < set->count && found < count; i++) {
        if (has_something(set->member[i]))
            context[found++] = set->member[i]->context;
    }
    engine_give(set->domain->engine);
    return found;
}

static _Atomic unsigned *users_of(struct fid *fid)
{
    if (fid->fclass == FI_CLASS_CQ)
        return &((struct queue *)fid)->users;
    return fid->fclass == FI_CLASS_CNTR ? &((struct counter *)fid)->users : NULL;
}

static int add_member(struct fid_poll *fid, struct fid *member, uint64_t flags)
{
    struct poll_set *set = (struct poll_set *)fid;
    _Atomic unsigned *users = users_of(member);
    if (flags || !users)
        return -FI_EINVAL;
    engine_take(set->domain->engine);
    bool has_room = set->count < MEMBERS_MAX;
    if (has_room) {
        set->member[set->count++] = member;
        (*users)++;
    }
    engine_give(set->domain->engine);
    return has_room ? 0 : -FI_ENOSPC;
}

static int drop_member(struct fid_poll *fid, struct fid *member, uint64_t flags)
{
    struct poll_set *set = (struct poll_set *)fid;
    bool is_found = false;
    engine_take(set->domain->engine);
    for (int i = 0; i < set->count && !is_found; i++) {
        if (set->member[i] != member)
            continue;
        (*users_of(member))--;
        set->member[i] = set->member[--set->count];
        is_found = true;
    }
    engine_give(set->domain->engine);
    return is_found ? 0 : -FI_EINVAL;
}

static struct fi_ops_poll poll_calls = {
    .size = sizeof(struct fi_ops_poll),
    .poll = poll_members,
    .poll_add = add_member,
    .poll_del = drop_member,
};

static int close_poll_set(struct fid *fid)
{
    struct poll_set *set = (struct poll_set *)fid;
    for (int i = 0; i < set->count; i++)
        (*users_of(set->member[i]))--;
    set->domain->users--;
    free(set);
    return 0;
}

static struct fi_ops poll_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_poll_set,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops_open,
};

int poll_set_open(struct fid_domain *fid, struct fi_poll_attr *attr, struct fid_poll **made)
{
    struct poll_set *set = calloc(1, sizeof(*set));
    if (!set)
        return -FI_ENOMEM;
    set->domain = (struct domain *)fid;
    set->fid = (struct fid_poll){.fid = {.fclass = FI_CLASS_POLL, .ops = &poll_fid_calls},
                                 .ops = &poll_calls};
    set->domain->users++;
    *made = &set->fid;
    return 0;
}

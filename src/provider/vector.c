/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Address vectors: which process and port an fi_addr_t stands for. It is a place in the table, for
 * maps as well.
 */
#include "provider/op.h"

#include "base/array.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

fi_addr_t vector_find(const struct vector *vector, uint64_t place)
{
    for (size_t i = 0; i < vector->count; i++) {
        if (vector->entry[i].place == place)
            return i;
    }
    return FI_ADDR_NOTAVAIL;
}

/* The place of an address, or PLACE_NONE. Without the turn, since the task manager may be asked. */
static uint64_t place_at(struct engine *engine, const void *bytes, struct address *address)
{
    int rank;
    bool is_address = address_read(bytes, sizeof(*address), address);
    if (is_address && address->magic == ADDRESS_NAMED && address->job_length > 0)
        return named_find(engine, address);
    is_address = is_address && address->magic == ADDRESS_MAGIC;
    if (is_address && rh_peer(engine->job, address->job, address->job_length, &rank) == 0)
        return place_of(rank, address->port);
    log_warning("libfabric provider rhinet: fi_av_insert: %s",
                is_address ? rh_error_text() : "these bytes are no address of this provider");
    return PLACE_NONE;
}

static void add(struct vector *vector, const struct vector_entry *entry, fi_addr_t *made)
{
    bool is_known = entry->place != PLACE_NONE;
    if (made)
        *made = is_known ? vector->count : FI_ADDR_NOTAVAIL;
    if (is_known || vector->type == FI_AV_TABLE)
        vector->entry[vector->count++] = *entry;
}

static int insert(struct fid_av *av, const void *addresses, size_t count, fi_addr_t *made,
                  uint64_t flags, void *context)
{
    struct vector *vector = (struct vector *)av;
    struct engine *engine = vector->domain->engine;
    int inserted = 0;
    for (size_t i = 0; i < count; i++) {
        struct vector_entry entry;
        entry.place = place_at(engine, (const char *)addresses + i * sizeof(entry.address),
                               &entry.address);
        engine_take(engine);
        bool has_room = array_grow(&vector->entry, &vector->room, vector->count + 1);
        if (has_room)
            add(vector, &entry, made ? &made[i] : NULL);
        engine_give(engine);
        if (!has_room)
            return -FI_ENOMEM;
        if ((flags & FI_SYNC_ERR) && context)
            ((int *)context)[i] = entry.place != PLACE_NONE ? 0 : FI_EINVAL;
        inserted += entry.place != PLACE_NONE;
    }
    return inserted;
}

/* Services count up; nodes do not, since there is one. */
static int insert_symmetric(struct fid_av *av, const char *node, size_t node_count,
                            const char *service, size_t service_count, fi_addr_t *made,
                            uint64_t flags, void *context)
{
    struct address address;
    char *rest = NULL;
    unsigned long first = service ? strtoul(service, &rest, 10) : 0;
    bool is_number = service && rest != service && *rest == '\0';
    int inserted = 0;
    if (!service || node_count != 1 || (service_count > 1 && !is_number))
        return -FI_EINVAL;
    if (node && !host_is_here(node, false))
        return -FI_ENODATA;
    for (size_t i = 0; i < service_count; i++) {
        char name[24];
        snprintf(name, sizeof(name), "%lu", first + i);
        if (!address_name(&address, i == 0 ? service : name))
            return -FI_EINVAL;
        int result = insert(av, &address, 1, made ? &made[i] : NULL, flags,
                            context ? (int *)context + i : NULL);
        if (result < 0)
            return result;
        inserted += result;
    }
    return inserted;
}

static int insert_service(struct fid_av *av, const char *node, const char *service, fi_addr_t *made,
                          uint64_t flags, void *context)
{
    return insert_symmetric(av, node, 1, service, 1, made, flags, context);
}

static int remove_some(struct fid_av *av, fi_addr_t *addresses, size_t count, uint64_t flags)
{
    struct vector *vector = (struct vector *)av;
    int result = 0;
    engine_take(vector->domain->engine);
    for (size_t i = 0; i < count; i++) {
        if (vector_place(vector, addresses[i]) == PLACE_NONE)
            result = -FI_EINVAL;
        else
            vector->entry[addresses[i]].place = PLACE_NONE;
    }
    engine_give(vector->domain->engine);
    return result;
}

static int look_up(struct fid_av *av, fi_addr_t address, void *buffer, size_t *length)
{
    const struct vector *vector = (struct vector *)av;
    size_t part = *length < sizeof(struct address) ? *length : sizeof(struct address);
    engine_take(vector->domain->engine);
    bool is_there = vector_place(vector, address) != PLACE_NONE;
    if (is_there && part > 0)
        memcpy(buffer, &vector->entry[address].address, part);
    engine_give(vector->domain->engine);
    if (!is_there)
        return -FI_EINVAL;
    *length = sizeof(struct address);
    return 0;
}

static const char *print(struct fid_av *av, const void *address, char *buffer, size_t *length)
{
    struct address copy;
    char job[2 * sizeof(copy.job) + 1] = "";
    memcpy(&copy, address, sizeof(copy));
    size_t used = copy.job_length < sizeof(copy.job) ? copy.job_length : sizeof(copy.job);
    for (size_t i = 0; i < used; i++)
        snprintf(job + 2 * i, 3, "%02x", copy.job[i]);
    int needed = copy.magic == ADDRESS_NAMED
                     ? snprintf(buffer, *length, "rhinet://%.*s", (int)used, copy.job)
                     : snprintf(buffer, *length, "rhinet://%s:%u", job, copy.port);
    *length = (size_t)needed + 1;
    return buffer;
}

static struct fi_ops_av vector_calls = {
    .size = sizeof(struct fi_ops_av),
    .insert = insert,
    .insertsvc = insert_service,
    .insertsym = insert_symmetric,
    .remove = remove_some,
    .lookup = look_up,
    .straddr = print,
};

static int close_vector(struct fid *fid)
{
    struct vector *vector = (struct vector *)fid;
    if (vector->users > 0)
        return -FI_EBUSY;
    vector->domain->users--;
    free(vector->entry);
    free(vector);
    return 0;
}

static struct fi_ops vector_fid_calls = {
    .size = sizeof(struct fi_ops),
    .close = close_vector,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_ops_open,
};

int vector_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **av, void *context)
{
    struct domain *domain = (struct domain *)fid;
    if (!attr || (attr->flags & (FI_READ | FI_EVENT)) || attr->name)
        return attr ? -FI_ENOSYS : -FI_EINVAL;
    if (attr->type == FI_AV_UNSPEC)
        attr->type = FI_AV_TABLE;
    struct vector *vector = calloc(1, sizeof(*vector));
    if (!vector)
        return -FI_ENOMEM;
    vector->fid = (struct fid_av){
        .fid = {.fclass = FI_CLASS_AV, .context = context, .ops = &vector_fid_calls},
        .ops = &vector_calls};
    vector->domain = domain;
    vector->type = attr->type;
    domain->users++;
    *av = &vector->fid;
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Endpoints by name: what fi_getinfo() makes of a node and a service. The node must be this host,
 * by whatever name or number; the service is the name under which the endpoint's process is known
 * to its task manager, so that other processes of the job on this host find it. Somebody may be
 * looked for before it is there: until then, who sends to it is told to try again.
 */
#include "provider/op.h"

#include "base/clock.h"
#include "base/log.h"
#include "job/job.h"

#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

#define ASK_EVERY_NS (NS_PER_MS)
#define SAY_EVERY_NS (10 * NS_PER_S)

/* ---- Hosts ---------------------------------------------------------------------------------- */

/* A socket can have an address of this host only. */
static bool is_bindable(const struct addrinfo *one)
{
    int fd = socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_ours = fd >= 0 && bind(fd, one->ai_addr, one->ai_addrlen) == 0;
    if (fd >= 0)
        close(fd);
    return is_ours;
}

bool host_is_here(const char *node, bool is_number)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = is_number ? AI_NUMERICHOST : 0};
    struct addrinfo *all = NULL;
    int result = getaddrinfo(node, NULL, &hints, &all);
    if (result != 0) {
        log_info("libfabric provider rhinet: host \"%s\": %s", node, gai_strerror(result));
        return false;
    }
    bool is_here = false;
    for (const struct addrinfo *one = all; one && !is_here; one = one->ai_next)
        is_here = is_bindable(one);
    freeaddrinfo(all);
    if (!is_here)
        log_info("libfabric provider rhinet: host \"%s\" is not this one; processes of several "
                 "hosts must be started by one launcher, and exchange fi_getname()'s addresses",
                 node);
    return is_here;
}

/* ---- Addresses ------------------------------------------------------------------------------ */

bool address_name(struct address *address, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    *address = (struct address){.magic = ADDRESS_NAMED, .job_length = (uint16_t)length};
    if (length > sizeof(address->job)) {
        log_info("libfabric provider rhinet: service \"%s\" is longer than %zu bytes", name,
                 sizeof(address->job));
        return false;
    }
    if (length > 0)
        memcpy(address->job, name, length);
    return true;
}

bool address_read(const void *bytes, size_t length, struct address *address)
{
    if (length != sizeof(*address))
        return false;
    memcpy(address, bytes, sizeof(*address));
    return (address->magic == ADDRESS_MAGIC || address->magic == ADDRESS_NAMED) &&
           address->port < PORT_COUNT && address->job_length <= sizeof(address->job);
}

static void name_of(const struct address *address, char name[NAME_ROOM])
{
    memcpy(name, address->job, address->job_length);
    name[address->job_length] = '\0';
}

/* ---- Having a name -------------------------------------------------------------------------- */

/* The endpoint of this process that has the name, or NULL; with the turn. */
static struct endpoint *find_own(const struct engine *engine, const char *name)
{
    for (uint32_t i = 0; i < PORT_COUNT; i++) {
        if (engine->port[i] && strcmp(engine->port[i]->name, name) == 0)
            return engine->port[i];
    }
    return NULL;
}

/* Two processes that exchange their addresses otherwise may both want it: then the second one has
 * none, and is reached by what fi_getname() says. */
void endpoint_name_take(struct endpoint *endpoint, const struct address *address)
{
    struct engine *engine = endpoint->engine;
    char name[NAME_ROOM];
    name_of(address, name);
    engine_take(engine);
    bool is_own = find_own(engine, name) != NULL;
    engine_give(engine);
    if (name[0] == '\0' || is_own)
        return;
    if (job_name_put(engine->job, name, endpoint->port) < 0) {
        log_info("libfabric provider rhinet: this endpoint gets no name: %s", rh_error_text());
        return;
    }
    engine_take(engine);
    memcpy(endpoint->name, name, sizeof(name));
    engine_give(engine);
}

void endpoint_name_drop(struct endpoint *endpoint)
{
    if (endpoint->name[0] != '\0' && job_name_drop(endpoint->engine->job, endpoint->name) < 0)
        log_debug("a name could not be dropped: %s", rh_error_text());
    endpoint->name[0] = '\0';
}

/* ---- Finding who has it --------------------------------------------------------------------- */

uint64_t named_find(struct engine *engine, const struct address *address)
{
    char name[NAME_ROOM];
    int rank;
    uint32_t port;
    name_of(address, name);
    engine_take(engine);
    const struct endpoint *own = find_own(engine, name);
    uint64_t place = own ? place_of(engine->mail->rank, own->port) : PLACE_NONE;
    engine_give(engine);
    if (own)
        return place;
    int result = job_name_find(engine->job, name, &rank, &port);
    if (result == 0 && port < PORT_COUNT)
        return place_of(rank, port);
    if (result == RH_EAGAIN)
        return PLACE_LATER;
    log_warning("libfabric provider rhinet: nobody is found by the name \"%s\": %s", name,
                rh_error_text());
    return PLACE_NONE;
}

uint64_t vector_resolve(struct vector *vector, fi_addr_t to)
{
    struct engine *engine = vector->domain->engine;
    struct address address = vector->entry[to].address;
    int64_t now_ns = clock_now_ns();
    if (now_ns < engine->ask_ns)
        return PLACE_LATER;
    engine->ask_ns = now_ns + ASK_EVERY_NS;
    engine_give(engine); /* the task manager is asked without the turn */
    uint64_t place = named_find(engine, &address);
    engine_take(engine);
    if (place != PLACE_LATER && vector_place(vector, to) == PLACE_LATER)
        vector->entry[to].place = place;
    if (place == PLACE_LATER && now_ns >= engine->say_ns) {
        engine->say_ns = now_ns + SAY_EVERY_NS;
        log_info("libfabric provider rhinet: %s; waiting for it", rh_error_text());
    }
    return place;
}

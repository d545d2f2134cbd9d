/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The world: nodes, a station for each rank, ports for those that live here, deaths.
 */
#include "base/error.h"
#include "simulated/station.h"

#include <errno.h>
#include <stdlib.h>

#define TIMEOUT_NS (60LL * 1000000000)

/* ---- The life of a world --------------------------------------------------------------------- */

static int out_of_memory(uint32_t size)
{
    return error_fail(RH_ENOSPACE, "no memory to simulate %u nodes", size);
}

static int port_call(void *context, struct martini_call *call);

static int station_make(struct martini_world *world, uint32_t rank)
{
    struct station *station = &world->stations[rank];
    struct process_spec spec = {.cluster = world->cluster,
                                .node = rank,
                                .pgid = STATION_PGID,
                                .pid = (uint16_t)rank,
                                .window_count = STATION_WINDOWS,
                                .library_pid = (uint16_t)(STATION_LIBRARY | rank)};
    station->world = world;
    station->rank = (int)rank;
    station->port = (struct martini_port){station, port_call};
    station->idle.name = "the windows of its process";
    station->is_dirty = calloc(world->spec.size, sizeof(bool));
    return station->is_dirty && process_create(&station->process, &spec) == 0
               ? 0
               : out_of_memory(world->spec.size);
}

static int cluster_make(struct martini_world *world)
{
    const struct martini_spec *spec = &world->spec;
    const struct network_plan *plan = spec->plan;
    if (!plan) {
        int result = martini_plan_make(&world->plan, spec->size,
                                       (uint32_t)world->constants.cluster_mbps);
        if (result < 0)
            return result;
        world->has_plan = true;
        plan = &world->plan;
    }
    struct cluster_spec made = {.node_count = spec->size,
                                .memory = STATION_MEMORY,
                                .plan = plan,
                                .kind = spec->kind,
                                .metres = spec->metres,
                                .bit_error_rate = spec->bit_error_rate,
                                .constants = &world->constants,
                                .ranges = spec->ranges,
                                .trace = spec->trace};
    int result = cluster_create(&world->cluster, world->sim, &made);
    return result == -EINVAL ? RH_EINVALID : result < 0 ? RH_ENOSPACE : 0;
}

int martini_world_create(struct martini_world **world, const struct martini_spec *spec)
{
    if (spec->size < 1 || spec->size > STATION_LIBRARY)
        return error_fail(RH_EINVALID, "a simulated cluster has 1 to %d nodes, not %u", UINT16_MAX,
                          spec->size);
    struct martini_world *made = calloc(1, sizeof(*made));
    if (!made)
        return out_of_memory(spec->size);
    made->spec = *spec;
    made->constants = spec->constants ? *spec->constants : sim_constants_default();
    made->never.name = "nothing: its node is dead";
    if (made->spec.timeout_ns <= 0)
        made->spec.timeout_ns = TIMEOUT_NS;
    made->stations = calloc(spec->size, sizeof(*made->stations));
    int result = made->stations && sim_create(&made->sim, spec->seed) == 0
                     ? 0
                     : out_of_memory(spec->size);
    if (result == 0)
        result = cluster_make(made);
    for (uint32_t rank = 0; result == 0 && rank < spec->size; rank++)
        result = station_make(made, rank);
    if (result < 0) {
        martini_world_destroy(made);
        return result;
    }
    *world = made;
    return 0;
}

void martini_world_destroy(struct martini_world *world)
{
    for (uint32_t rank = 0; world->stations && rank < world->spec.size; rank++) {
        segments_free(&world->stations[rank]);
        process_destroy(world->stations[rank].process);
        free(world->stations[rank].is_dirty);
    }
    cluster_destroy(world->cluster);
    if (world->sim)
        sim_destroy(world->sim);
    if (world->has_plan)
        martini_plan_free(&world->plan);
    free(world->stations);
    free(world);
}

struct sim *martini_sim(const struct martini_world *world)
{
    return world->sim;
}

struct cluster *martini_cluster(const struct martini_world *world)
{
    return world->cluster;
}

/* ---- Ranks that live here -------------------------------------------------------------------- */

void martini_on_switch(struct martini_world *world, void (*hook)(void *context, int rank),
                       void *context)
{
    world->hook = hook;
    world->hook_context = context;
}

const struct martini_port *martini_port(struct martini_world *world, int rank)
{
    return &world->stations[rank].port;
}

/* Others run meanwhile, in the same thread: what they leave in its last failure is not ours. */
static int port_call(void *context, struct martini_call *call)
{
    struct station *station = context;
    struct martini_world *world = station->world;
    struct error_state before;
    error_save(&before);
    if (world->hook)
        world->hook(world->hook_context, station->rank);
    station_serve(station, call);
    if (world->hook)
        world->hook(world->hook_context, station->rank);
    if (call->result >= 0)
        error_restore(&before);
    return 0;
}

/* ---- Deaths ---------------------------------------------------------------------------------- */

void world_ring(struct martini_world *world)
{
    for (uint32_t rank = 0; rank < world->spec.size; rank++)
        host_memory_changed(cluster_host(world->cluster, rank));
}

void martini_kill(struct martini_world *world, int rank, bool is_node)
{
    struct station *station = station_of(world, rank);
    if (station_is_gone(station))
        return;
    station->is_dead = true;
    world->gone_count++;
    segments_forget(station);
    cluster_program_kill(world->cluster, (uint32_t)rank);
    if (is_node)
        cluster_node_kill(world->cluster, (uint32_t)rank);
    if (world->spec.ended)
        world->spec.ended(world->spec.context, rank, true);
    world_ring(world);
}

bool martini_is_gone(const struct martini_world *world, int rank)
{
    return station_is_gone(&world->stations[rank]);
}

/* A dead node's program does not go on. */
static void stay_if_dead(const struct station *station)
{
    while (station->is_dead)
        fiber_wait(station->world->sim, &station->world->never, SIM_NEVER);
}

void station_sleep(struct station *station, sim_time duration)
{
    if (duration > 0)
        fiber_sleep(station->world->sim, duration);
    stay_if_dead(station);
}

int station_wait(struct station *station, sim_time deadline)
{
    int result = host_wait(process_host(station->process), deadline);
    stay_if_dead(station);
    return result;
}

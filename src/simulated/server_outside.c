/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks may wait for something outside of the world, as MPI's processes do for their launcher when
 * they start and end. Such a rank parks (MARTINI_PARK). When every rank is parked and no event is
 * left, only the outside can change anything: all are released, and come back, parked again or with
 * other calls. Those are held until every rank has one, since who hears of the outside first is the
 * machine's doing; so no virtual time passes meanwhile, however often they look.
 */
#include "simulated/server.h"

#include "base/clock.h"

#include <sys/socket.h>
#include <time.h>

#define HOLD_NS  (200 * NS_PER_MS) /* calls that nobody needs to have company for */
#define ROUND_NS 20000             /* between two releases */

static bool channel_is_parked(const struct channel *channel)
{
    return channel->fd >= 0 && channel->is_busy && !channel->is_new &&
           channel->call.operation == MARTINI_PARK;
}

static void channel_release(struct channel *channel)
{
    struct martini_call answer = channel->call;
    answer.result = RH_ETIMEOUT;
    answer.text[0] = '\0';
    answer.now_ns = sim_now(channel->rank->server->world->sim) / SIM_NS;
    answer.gone = channel->rank->server->world->gone_count;
    channel->is_busy = false;
    channel->is_released = true;
    channel->answered_ns = clock_now_ns();
    (void)!send(channel->fd, &answer, sizeof(answer), MSG_NOSIGNAL);
}

bool server_outside_go(struct server *server)
{
    bool is_any = false;
    for (uint32_t i = 0; i < server->size; i++) {
        for (struct channel *at = server->ranks[i].channels; at; at = at->next) {
            if (!channel_is_parked(at))
                continue;
            channel_release(at);
            is_any = true;
        }
    }
    return is_any;
}

struct outside {
    bool is_parked;    /* somebody */
    bool is_held;      /* somebody's call */
    bool is_gathering; /* one that all will come to */
};

static struct outside outside_find(const struct server *server)
{
    struct outside found = {0};
    for (uint32_t i = 0; i < server->size; i++) {
        for (const struct channel *at = server->ranks[i].channels; at; at = at->next) {
            const struct martini_call *call = at->has_next ? &at->next_call : &at->call;
            found.is_parked = found.is_parked || channel_is_parked(at);
            found.is_held = found.is_held || at->is_new;
            found.is_gathering = found.is_gathering || (at->is_new && call->is_gathering);
        }
    }
    return found;
}

bool server_outside_is_over(struct server *server)
{
    struct outside found = outside_find(server);
    int64_t now_ns = clock_now_ns();
    if (found.is_held && server->held_ns == 0)
        server->held_ns = now_ns;
    bool is_late = found.is_held && !found.is_gathering && now_ns - server->held_ns > HOLD_NS;
    if (found.is_parked && !is_late) {
        nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
        server_outside_go(server);
        return false;
    }
    server->is_outside = false;
    server->held_ns = 0;
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network itself as JSON, for who draws it: cables with their loads, hosts, prohibited turns.
 */
#include "cli/json_put.h"
#include "cli/route/route.h"

/* Both directions of each cable; the load is that of the class that loads it more. */
static json_t *links_json(const struct routing *routing)
{
    const struct net *net = routing->net;
    json_t *links = json_array();
    for (uint32_t c = 0; c < net->channel_count; c++) {
        double load = 0;
        for (uint32_t k = 0; k < routing->traffic->class_count; k++) {
            if (routing->load->channel[k][c] > load)
                load = routing->load->channel[k][c];
        }
        json_t *link = json_object();
        json_put_text(link, "from", net_name(net, net->tail[c]));
        json_put_number(link, "port", net->port[c]);
        json_put_text(link, "to", net_name(net, net->head[c]));
        json_put_real(link, "load", load);
        json_array_append_new(links, link);
    }
    return links;
}

static json_t *hosts_json(const struct net *net)
{
    json_t *object = json_object();
    for (uint32_t s = 0; s < net->switch_count; s++) {
        json_t *hosts = json_array();
        for (uint32_t t = net->host_first[s]; t < net->host_first[s + 1]; t++)
            json_array_append_new(hosts, json_string(net->fabric->nodes[net->target_node[t]].name));
        json_object_set_new(object, net_name(net, s), hosts);
    }
    return object;
}

/* A turn and its reverse are one. */
static json_t *turns_json(const struct routing *routing)
{
    const struct net *net = routing->net;
    json_t *turns = json_array();
    for (uint32_t s = 0; s < net->switch_count; s++) {
        for (uint32_t a = net->first[s]; a < net->first[s + 1]; a++) {
            for (uint32_t b = a + 1; b < net->first[s + 1]; b++) {
                if (turns_allowed(routing->turns, net->reverse[a], b))
                    continue;
                json_t *turn = json_object();
                json_put_text(turn, "at", net_name(net, s));
                json_put_text(turn, "from", net_name(net, net->head[a]));
                json_put_text(turn, "to", net_name(net, net->head[b]));
                json_array_append_new(turns, turn);
            }
        }
    }
    return turns;
}

void route_map_json(json_t *object, const struct routing *routing)
{
    json_object_set_new(object, "links", links_json(routing));
    json_object_set_new(object, "hosts_at", hosts_json(routing->net));
    json_object_set_new(object, "prohibited", turns_json(routing));
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The port of a rank whose world is in another process, the simulation's server: calls travel over
 * a socket that the launcher has given it. Each thread of the rank has a socket of its own, so that
 * one can wait while others go on.
 */
#pragma once

#include "nic/martini/call.h"

struct martini_client;

/* RH_EINVALID: nobody simulates, so `rhinet run --nic martini` did not start this process. */
int martini_client_open(struct martini_client **client, const struct nic_job *job);
void martini_client_close(struct martini_client *client); /* NULL: nothing */
/* The library has copied so many bytes; the simulation hears of it with the next call. */
void martini_client_copied(struct martini_client *client, uint64_t length);
const struct martini_port *martini_client_port(const struct martini_client *client);

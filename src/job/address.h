/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numeric addresses of this host, and sockets made of them. Nothing here asks a name server, so
 * nothing here waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_TEXT  64
#define ADDRESSES_MAX 6

/* Where a task manager listens: addresses to be tried in turn, best first. */
struct address_list {
    int count;
    uint16_t port;
    char text[ADDRESSES_MAX][ADDRESS_TEXT];
};

/* Own addresses. `wanted` is "", the name of an interface, or a subnet such as 10.1.0.0/16.
 * RH_EINVALID if there is none of that kind, with those that there are. */
int address_own(struct address_list *list, const char *wanted);

/* A listening socket, not blocking, for the addresses in the list, whose port it fills in. `ports`
 * is "" or "0" (any) or a range such as 7000-7100. The descriptor, or RH_EINVALID or
 * RH_EREFUSED. */
int address_listen(struct address_list *list, const char *wanted, const char *ports);

/* Begin to connect. The descriptor, or a negative errno. */
int address_connect(const char *text, uint16_t port);

/* The numeric address of a socket's other end, or of its own. "?" if there is none. */
void address_of_peer(int fd, char text[ADDRESS_TEXT]);
void address_of_self(int fd, char text[ADDRESS_TEXT]);

/* As one line of text, and back. False if it makes no sense. */
void address_list_print(const struct address_list *list, char *text, size_t text_size);
bool address_list_parse(struct address_list *list, const char *text);

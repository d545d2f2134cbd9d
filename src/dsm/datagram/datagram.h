/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data by datagrams: the way of the paper that Fagus comes from, to compare remote memory with.
 *
 * A message of up to 64 KiB is cut into packets of 2048 bytes: a header of 12 bytes (number of the
 * message, its size, the packet's place in it) and 2036 bytes of payload. The paper's header has 6,
 * of which 2 are the message's number: after 65536 of them one could be taken for another. A
 * receiver has slots of that size, posted in advance, more of them the more ranks there are; a
 * packet that finds none free is dropped, as the network may drop any. Each slot has a state that
 * says whether it has been consumed: the slots are those of a queue (rh_append), whose senders need
 * no connection. The receiver puts a message together by sender and number, whatever the order of
 * its packets, carries it out once, and acknowledges it; the sender repeats what is not
 * acknowledged.
 *
 * A thread of every process receives, as do those that wait for an answer: unlike remote memory,
 * datagrams need somebody at the other end. A push is messages that are acknowledged; a pull is
 * requests, each answered by a message.
 */
#pragma once

#include "dsm/bulk.h"

extern const struct dsm_bulk_ops dsm_bulk_datagram;

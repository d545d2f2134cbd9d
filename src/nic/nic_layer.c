/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the contract and the NICs have by name. Data only: it is part of src/base.
 */
#include "nic/nic_layer.h"

#include "base/counters.h"
#include "base/settings.h"
#include "watch/board.h"

#include <rhinet/rma.h>

static const struct setting_spec settings[] = {
    [LAYER_AT(SETTING_TIMEOUT)] =
        {.name = "RHINET_TIMEOUT",
         .kind = SETTING_DURATION,
         .initial = "60s",
         .least = 1000,
         .most = INT64_MAX,
         .help = "longest wait of a blocking call that names no timeout itself"},
    [LAYER_AT(SETTING_SPIN)] =
        {.name = "RHINET_SPIN",
         .kind = SETTING_DURATION,
         .initial = "200us",
         .most = 10000000000,
         .help = "how long a wait polls before it sleeps; with more ranks than cores it "
                 "yields the core meanwhile"},
    [LAYER_AT(SETTING_SEGMENTS)] = {.name = "RHINET_SEGMENTS",
                                    .kind = SETTING_NUMBER,
                                    .initial = "256",
                                    .least = 8,
                                    .most = 65536,
                                    .help = "segments and queues a process may have at a time"},
    [LAYER_AT(SETTING_HUGE_PAGES)] =
        {.name = "RHINET_HUGE_PAGES",
         .kind = SETTING_CHOICE,
         .initial = "no",
         .choices = "no|try",
         .help = "try: back large allocated segments by huge pages if there are any"},
    [LAYER_AT(SETTING_CMA)] =
        {.name = "RHINET_CMA",
         .kind = SETTING_CHOICE,
         .initial = "auto",
         .choices = "auto|off",
         .help = "off: move attached memory through the owner's agent thread instead of "
                 "the kernel's cross-memory attach"},
    [LAYER_AT(SETTING_MEMBARRIER)] =
        {.name = "RHINET_MEMBARRIER",
         .kind = SETTING_CHOICE,
         .initial = "auto",
         .choices = "auto|off",
         .help = "off: a fence in every push instead of membarrier(2) before a sleep"},
    [LAYER_AT(SETTING_FAULT)] =
        {.name = "RHINET_FAULT",
         .kind = SETTING_TEXT,
         .initial = "",
         .help = "faults for the fault NIC, for example seed=7,delay=0.1:200us; see "
                 "rhinet(7)"},
    [LAYER_AT(SETTING_OFI_PROVIDER)] =
        {.name = "RHINET_OFI_PROVIDER",
         .kind = SETTING_TEXT,
         .initial = "",
         .help = "libfabric provider of the NICs ofi and mixed, such as "
                 "tcp;ofi_rxm; empty: the best there is, which `rhinet info` "
                 "names with the reason"},
    [LAYER_AT(SETTING_MIXED_RANKS)] =
        {.name = "RHINET_MIXED_RANKS",
         .kind = SETTING_NUMBER,
         .initial = "0",
         .most = 1 << 18,
         .help = "NIC mixed: let only groups of this many neighbouring ranks use shared memory, to "
                 "try a cluster on one machine; 0: all ranks of a host; the same on all"},
    [LAYER_AT(
        SETTING_MARTINI)] = {.name = "RHINET_MARTINI",
                             .kind = SETTING_TEXT,
                             .initial = "",
                             .help = "what NIC martini simulates, for example seed=7,report=-; see "
                                     "rhinet(7)"},
    [LAYER_AT(
        SETTING_MARTINI_FD)] = {.name = "RHINET_MARTINI_FD",
                                .kind = SETTING_NUMBER,
                                .initial = "0",
                                .most = 1 << 20,
                                .help = "connection to the simulation of NIC martini; set by the "
                                        "launcher, not by you"},
};

static const struct counter_spec counters[] = {
    [LAYER_AT(COUNTER_APPEND_FULL)] = {.name = "append_full",
                                       .help = "appends that found the queue full"},
    [LAYER_AT(COUNTER_WAIT_SLEEP)] = {.name = "wait_sleep", .help = "times a wait went to sleep"},
    [LAYER_AT(COUNTER_WAKE)] = {.name = "wake", .help = "sleeping peers woken"},
    [LAYER_AT(COUNTER_AGENT)] = {.name = "agent",
                                 .help = "operations sent through a peer's agent thread"},
    [LAYER_AT(COUNTER_DENIED_SEGMENT)] = {.name = "denied_segment",
                                          .help = "operations refused: no such segment"},
    [LAYER_AT(COUNTER_DENIED_STALE)] = {.name = "denied_stale",
                                        .help = "operations refused: segment was detached"},
    [LAYER_AT(COUNTER_DENIED_BOUNDS)] = {.name = "denied_bounds",
                                         .help = "operations refused: outside the segment"},
    [LAYER_AT(COUNTER_DENIED_RIGHTS)] = {.name = "denied_rights",
                                         .help = "operations refused: access not granted"},
    [LAYER_AT(COUNTER_DENIED_DEAD)] = {.name = "denied_dead",
                                       .help = "operations refused: peer died or left"},
    [LAYER_AT(COUNTER_DENIED_STRANGER)] = {.name = "denied_stranger",
                                           .help = "network messages refused: not from the job"},
    [LAYER_AT(COUNTER_FAULT)] = {.name = "fault", .help = "faults injected by the fault NIC"},
};

static const char *const conditions[] = {[RH_EQUAL] = "exactly",
                                         [RH_NOT_EQUAL] = "something else than",
                                         [RH_AT_LEAST] = "at least",
                                         NULL};

static const struct wait_spec waits[] = {
    [LAYER_AT(WAIT_WORD)] = {.name = "word",
                             .text = "rh_wait_word from %r, word is %m and should be %c %n",
                             .choices = conditions},
    [LAYER_AT(WAIT_UNTIL)] = {.name = "until", .text = "rh_wait_until from %r"},
    [LAYER_AT(WAIT_DONE)] = {.name = "done", .text = "rh_wait_done from %r"},
    [LAYER_AT(WAIT_TRANSFER)] = {.name = "transfer", .text = "copy of %l bytes of %s by %r"},
    [LAYER_AT(WAIT_DETACH)] = {.name = "detach", .text = "detach of %s, which %r is copying"},
    [LAYER_AT(WAIT_APPEND)] = {.name = "append", .text = "append to %q of %r, which is full"},
    [LAYER_AT(WAIT_QUEUE)] = {.name = "queue", .text = "rh_queue_next of queue %n, which is empty"},
};

const struct layer nic_layer = {
    .name = "nic",
    LAYER_LIST(setting, settings),
    LAYER_LIST(counter, counters),
    LAYER_LIST(wait, waits),
};

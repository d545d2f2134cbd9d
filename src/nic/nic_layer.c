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
    DURATION_SETTING(SETTING_TIMEOUT, "RHINET_TIMEOUT", "60s", 1000, INT64_MAX,
                     "longest wait of a blocking call that names no timeout itself"),
    DURATION_SETTING(SETTING_SPIN, "RHINET_SPIN", "200us", 0, 10000000000,
                     "how long a wait polls before it sleeps; with more ranks than cores it yields "
                     "the core meanwhile"),
    NUMBER_SETTING(SETTING_SEGMENTS, "RHINET_SEGMENTS", "256", 8, 65536,
                   "segments and queues a process may have at a time"),
    CHOICE_SETTING(SETTING_HUGE_PAGES, "RHINET_HUGE_PAGES", "no", "no|try",
                   "try: back large allocated segments by huge pages if there are any"),
    CHOICE_SETTING(SETTING_CMA, "RHINET_CMA", "auto", "auto|off",
                   "off: move attached memory through the owner's service thread instead of the "
                   "kernel's cross-memory attach"),
    CHOICE_SETTING(SETTING_MEMBARRIER, "RHINET_MEMBARRIER", "auto", "auto|off",
                   "off: a fence in every push instead of membarrier(2) before a sleep"),
    TEXT_SETTING(SETTING_FAULT, "RHINET_FAULT", "",
                 "faults for the fault NIC, for example seed=7,delay=0.1:200us; see rhinet(7)"),
    TEXT_SETTING(SETTING_OFI_PROVIDER, "RHINET_OFI_PROVIDER", "",
                 "libfabric provider of the NICs ofi and mixed, such as tcp;ofi_rxm; empty: the "
                 "best there is, which `rhinet info` names with the reason"),
    NUMBER_SETTING(SETTING_MIXED_RANKS, "RHINET_MIXED_RANKS", "0", 0, 1 << 18,
                   "NIC mixed: let only groups of this many neighbouring ranks use shared memory, "
                   "to try a cluster on one machine; 0: all ranks of a host; the same on all"),
    TEXT_SETTING(SETTING_MARTINI, "RHINET_MARTINI", "",
                 "what NIC martini simulates, for example seed=7,report=-; see rhinet(7)"),
    NUMBER_SETTING(SETTING_MARTINI_FD, "RHINET_MARTINI_FD", "0", 0, 1 << 20,
                   "connection to the simulation of NIC martini; set by the launcher, not by you"),
};

static const struct counter_spec counters[] = {
    [LAYER_AT(COUNTER_APPEND_FULL)] = {.name = "append_full",
                                       .help = "appends that found the queue full"},
    [LAYER_AT(COUNTER_WAIT_SLEEP)] = {.name = "wait_sleep", .help = "times a wait went to sleep"},
    [LAYER_AT(COUNTER_WAKE)] = {.name = "wake", .help = "sleeping peers woken"},
    [LAYER_AT(COUNTER_SERVICE)] = {.name = "service",
                                   .help = "operations sent through a peer's service thread",
                                   .was = "agent"},
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
    LAYER_LIST(setting, settings),
    LAYER_LIST(counter, counters),
    LAYER_LIST(wait, waits),
};

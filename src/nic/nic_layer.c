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
    TEXT_SETTING(SETTING_MARTINI_DOOR, "RHINET_MARTINI_DOOR", "",
                 "where the simulation of NIC martini is found under mpirun; set by `rhinet "
                 "mpirun`, not by you"),
    TEXT_SETTING(SETTING_VIRTUAL, "RHINET_VIRTUAL", "",
                 "what librhinet_virtual.so does in the ranks of NIC martini; set by --compute and "
                 "--clock, not by you"),
};

static const struct counter_spec counters[] = {
    COUNTER(COUNTER_APPEND_FULL, "append_full", "appends that found the queue full"),
    COUNTER(COUNTER_WAIT_SLEEP, "wait_sleep", "times a wait went to sleep"),
    COUNTER(COUNTER_WAKE, "wake", "sleeping peers woken"),
    RENAMED_COUNTER(COUNTER_SERVICE, "service", "agent",
                    "operations sent through a peer's service thread"),
    COUNTER(COUNTER_DENIED_SEGMENT, "denied_segment", "operations refused: no such segment"),
    COUNTER(COUNTER_DENIED_STALE, "denied_stale", "operations refused: segment was detached"),
    COUNTER(COUNTER_DENIED_BOUNDS, "denied_bounds", "operations refused: outside the segment"),
    COUNTER(COUNTER_DENIED_RIGHTS, "denied_rights", "operations refused: access not granted"),
    COUNTER(COUNTER_DENIED_DEAD, "denied_dead", "operations refused: peer died or left"),
    COUNTER(COUNTER_DENIED_STRANGER, "denied_stranger",
            "network messages refused: not from the job"),
    COUNTER(COUNTER_FAULT, "fault", "faults injected by the fault NIC"),
};

static const char *const conditions[] = {[RH_EQUAL] = "exactly",
                                         [RH_NOT_EQUAL] = "something else than",
                                         [RH_AT_LEAST] = "at least",
                                         NULL};

static const struct wait_spec waits[] = {
    [LAYER_AT(WAIT_WORD)] = {.name = "word",
                             .text = "rh_wait_word from %r, word is %m and should be %c %n",
                             .choices = conditions},
    WAIT_FOR_RANK(WAIT_UNTIL, "until", "rh_wait_until from %r"),
    WAIT_FOR_RANK(WAIT_DONE, "done", "rh_wait_done from %r"),
    WAIT_FOR_RANK(WAIT_TRANSFER, "transfer", "copy of %l bytes of %s by %r"),
    WAIT_FOR_RANK(WAIT_DETACH, "detach", "detach of %s, which %r is copying"),
    WAIT_FOR_RANK(WAIT_APPEND, "append", "append to %q of %r, which is full"),
    WAIT_FOR_RANK(WAIT_QUEUE, "queue", "rh_queue_next of queue %n, which is empty"),
};

const struct layer nic_layer = {
    LAYER_LIST(setting, settings),
    LAYER_LIST(counter, counters),
    LAYER_LIST(wait, waits),
};

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What distributed shared memory has by name. Data only: it is part of src/base.
 */
#include "dsm/dsm_layer.h"

#include "base/counters.h"
#include "base/settings.h"
#include "watch/board.h"

static const struct setting_spec settings[] = {
    NUMBER_SETTING(SETTING_DSM_HEAP, "RHINET_DSM_HEAP", "32", 1, 1 << 20,
                   "distributed shared memory: MiB of it, which every rank has in full; the same "
                   "on all"),
    NUMBER_SETTING(SETTING_DSM_VARIABLES, "RHINET_DSM_VARIABLES", "1024", 1, 1 << 20,
                   "distributed shared memory: synchronisation variables, 384 bytes each on every "
                   "rank; the same on all"),
    CHOICE_SETTING(SETTING_DSM_CHECK, "RHINET_DSM_CHECK", "off", "off|on",
                   "on: distributed shared memory that is not held is out of reach, and an access "
                   "to it is reported, as a data race if nothing orders it with another rank's; so "
                   "are variables that go to and fro. Slow"),
    CHOICE_SETTING(SETTING_DSM_FAULTS, "RHINET_DSM_FAULTS", "auto", "auto|async|sigbus|mprotect",
                   "how shared pages notice accesses: see rh_dsm_pages_open(3); auto: async where "
                   "the kernel has it and there are 8192 pages or fewer, else sigbus, else "
                   "mprotect"),
    CHOICE_SETTING(SETTING_DSM_BULK, "RHINET_DSM_BULK", "rdma", "rdma|datagram",
                   "how the data of shared variables travels: by remote memory, or in datagrams of "
                   "2048 bytes, to compare; the same on all"),
};

static const struct counter_spec counters[] = {
    [LAYER_AT(COUNTER_DSM_FETCH)] = {.name = "dsm_fetch",
                                     .help = "shared memory: reads that had to fetch"},
    [LAYER_AT(COUNTER_DSM_OWN)] =
        {.name = "dsm_own", .help = "shared memory: writes that took a variable from another rank"},
    [LAYER_AT(
        COUNTER_DSM_WAIT)] = {.name = "dsm_wait",
                              .help = "shared memory: acquires that waited for other holders"},
    [LAYER_AT(COUNTER_DSM_INVALIDATE)] = {.name = "dsm_invalidate",
                                          .help = "shared memory: copies of others made invalid"},
    [LAYER_AT(COUNTER_DSM_UPDATE)] = {.name = "dsm_update",
                                      .help = "shared memory: copies of others written"},
    [LAYER_AT(
        COUNTER_DSM_BOUNCE)] = {.name = "dsm_bounce",
                                .help = "shared memory: variables taken back from the rank that "
                                        "had just taken them"},
    [LAYER_AT(
        COUNTER_DSM_BYTES)] = {.name = "dsm_bytes",
                               .help = "shared memory: bytes of variables fetched and written"},
};

static const struct wait_spec waits[] = {
    [LAYER_AT(WAIT_VARIABLE)] = {.name = "variable", .text = "variable %n[, held by %r]"},
};

const struct layer dsm_layer = {
    LAYER_LIST(setting, settings), LAYER_LIST(counter, counters), LAYER_LIST(wait, waits),
    .sid_first = DSM_SID_CONTROL,  .sid_last = DSM_SID_LAST,      .sid_name = "the shared memory",
};

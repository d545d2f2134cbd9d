/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the libfabric NICs, with what each must reach against libfabric used directly.
 */
#include "experiment/machine/msg/msg.h"
#include "experiment/machine/ofi/ofi.h"
#include "experiment/machine/rma/rma.h"

#define DRIFT 0.3 /* two processes, two threads each, and the kernel in between */

#define PAIR(name_, unit_, help_, raw_, measure_)                                                  \
    .name = name_, .unit = unit_, .help = help_, .rank_count = 2, .amount = 1, .drift_max = DRIFT, \
    .raw = raw_, .measure = measure_, .set_up = raw_ofi_open, .tear_down = raw_ofi_close

const struct bench_case bench_ofi_cases[BENCH_OFI_CASES] = {
    {PAIR("push-8", "ns", "rh_push of 8 bytes; raw: injected write and its delivery completion",
          raw_ofi_words, ofi_push_words),
     .bound = BENCH_RATIO_AT_MOST, .bound_value = 1.15},
    {PAIR("inline-8", "ns",
          "rh_push_inline of 8 bytes, one way; raw: fi_inject_write, the peer polls the word",
          raw_ofi_inject, rma_inline_word)},
    {PAIR("push-1M", "GB/s", "rh_push of 1 MiB; raw: fi_writemsg and its delivery completion",
          raw_ofi_blocks, ofi_push_blocks),
     .bound = BENCH_RATIO_AT_LEAST, .bound_value = 0.95},
    {PAIR("stream-1M", "GB/s", "rh_push_start of 1 MiB, 4 under way; raw: the same by fi_writemsg",
          raw_ofi_stream, ofi_push_stream),
     .bound = BENCH_RATIO_AT_LEAST, .bound_value = 0.95},
    {.name = "send-8",
     .unit = "ns",
     .help = "rh_send to rh_recv of 8 bytes, one way; raw: fi_inject to fi_recv",
     .rank_count = 2,
     .amount = 1,
     .drift_max = DRIFT,
     .bound = BENCH_RATIO_AT_MOST,
     .bound_value = 1.15,
     .raw = raw_ofi_send,
     .measure = msg_send_8,
     .set_up = ofi_send_open,
     .tear_down = ofi_send_close},
};

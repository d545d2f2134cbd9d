/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of MPI programs, with what each must reach against Open MPI without us.
 */
#include "experiment/machine/mpi/mpi.h"
#include "experiment/machine/msg/msg.h"
#include "experiment/machine/ofi/ofi.h"

#define DRIFT         0.2
#define DRIFT_CROWDED 0.5

#define PAIR(name_, unit_, help_, raw_)                                                            \
    .name = name_, .unit = unit_, .help = help_, .rank_count = 2, .amount = 1, .drift_max = DRIFT, \
    .has_mpi = true, .raw = raw_, .measure = mpi_on_rhinet

#define CROWD(name_, help_, raw_)                                                                  \
    .name = name_, .unit = "ns", .help = help_, .rank_count = 8, .amount = 8, .has_mpi = true,     \
    .place = BENCH_CROWDED, .drift_max = DRIFT_CROWDED, .versus = BENCH_RATIO_AT_MOST,             \
    .versus_value = 1, .raw = raw_, .measure = mpi_on_rhinet

const struct bench_case bench_mpi_cases[BENCH_MPI_CASES] = {
    {PAIR("send-8", "ns", "MPI_Send to MPI_Recv of 8 bytes, one way; raw: a cache line's trip",
          raw_trip),
     .versus = BENCH_RATIO_AT_MOST, .versus_value = 0.92},
    {PAIR("window-8", "M/s",
          "MPI_Isend to MPI_Irecv of 8 bytes, 64 under way; raw: a stream of cache lines",
          raw_stream_lines),
     .versus = BENCH_RATIO_AT_LEAST, .versus_value = 0.75},
    {PAIR("ping-1M", "GB/s", "1 MiB to and fro; raw: memcpy to and fro", raw_copy_ping),
     .versus = BENCH_RATIO_AT_LEAST, .versus_value = 1.8},
    {PAIR("send-1M", "GB/s", "1 MiB of new data; raw: a two-copy ring of 16 x 32 KiB",
          raw_ring_block),
     .versus = BENCH_RATIO_AT_LEAST, .versus_value = 1.6},
    {.name = "fabric-8",
     .unit = "ns",
     .help = "fi_inject to fi_recv of 8 bytes on the provider, one way; raw: a cache line's trip",
     .rank_count = 2,
     .amount = 1,
     .drift_max = DRIFT,
     .bound = BENCH_RATIO_AT_MOST,
     .bound_value = 1.2,
     .raw = raw_trip,
     .measure = raw_ofi_send,
     .set_up = mpi_fabric_open,
     .tear_down = raw_ofi_close},
    {CROWD("barrier-8", "MPI_Barrier of 8 ranks on 2 cores; raw: a counter and a word, yielding",
           raw_barrier)},
    {CROWD("allreduce-8", "MPI_Allreduce of 8 bytes, 8 ranks on 2 cores; raw: on the raw barrier",
           raw_allreduce)},
};

_Static_assert(BENCH_MPI_CASES <= BENCH_CASES_MAX, "sheet has room");

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which core a rank has; and: are our two cores two? A hypervisor may for a while run two virtual
 * cores on the two threads of one real core. A line's trip is then very short and all else is slow,
 * since each side's waiting takes from the other's working. That shows when both compute: rank 0
 * does so alone, then beside rank 1.
 */
#include "base/clock.h"
#include "base/error.h"
#include "experiment/machine/bench.h"

#include <sched.h>
#include <unistd.h>

#define LOOPS    20000
#define CHUNKS   5
#define ALONE_US 300 /* longer than rank 0 needs */
#define SLOWER   1.3 /* together, if they share a core; on two it is 1 */

/* Multiplications in chains that do not wait for each other: a core begins one per cycle, and one
 * thread alone keeps it at that. The compiler must not know the factor, or it would shift and add.
 */
static void compute(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, factor = 0x9E3779B97F4A7C15ULL;
    for (unsigned i = 0; i < LOOPS; i++) {
        __asm__ volatile("" : "+r"(factor));
        a *= factor;
        b *= factor;
        c *= factor;
        d *= factor;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
}

/* The fastest of several: what disturbs only ever adds. */
static int64_t fastest_ns(void)
{
    int64_t least_ns = INT64_MAX;
    for (unsigned i = 0; i < CHUNKS; i++) {
        int64_t start_ns = clock_now_ns();
        compute();
        int64_t taken_ns = clock_now_ns() - start_ns;
        least_ns = taken_ns < least_ns ? taken_ns : least_ns;
    }
    return least_ns;
}

int bench_cores(struct bench_run *run, double *slowdown)
{
    struct bench_sheet *sheet = run->sheet;
    if (run->rank == 0) {
        int64_t alone_ns = fastest_ns();
        while (atomic_load(&sheet->companion) == BENCH_COMPANION_IDLE)
            cpu_relax();
        *slowdown = (double)fastest_ns() / (double)alone_ns;
        atomic_store(&sheet->companion, BENCH_COMPANION_ENOUGH);
    } else if (run->rank == 1) {
        usleep(ALONE_US);
        atomic_store(&sheet->companion, BENCH_COMPANION_BUSY);
        while (atomic_load(&sheet->companion) == BENCH_COMPANION_BUSY)
            compute();
        atomic_store(&sheet->companion, BENCH_COMPANION_IDLE);
    }
    return 0;
}

bool bench_cores_are_shared(double slowdown)
{
    return slowdown > SLOWER;
}

/* ---- Taking a core -------------------------------------------------------------------------- */

/* All that this process may use, even after it has taken one of them. */
static const cpu_set_t *allowed_cores(void)
{
    static cpu_set_t allowed;
    if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        CPU_ZERO(&allowed);
    return &allowed;
}

int bench_cores_take_of_pair(bool is_first)
{
    const cpu_set_t *allowed = allowed_cores();
    if (CPU_COUNT(allowed) < 2)
        return error_fail(RH_EUNSUP, "two cores are needed to measure between them");
    int core = is_first ? 0 : CPU_SETSIZE - 1;
    while (!CPU_ISSET(core, allowed))
        core += is_first ? 1 : -1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0 ? 0 : RH_EREFUSED;
}

int bench_cores_take(int rank, enum bench_place place)
{
    return bench_cores_take_of_pair(place == BENCH_CROWDED ? rank % 2 == 0 : rank == 0);
}

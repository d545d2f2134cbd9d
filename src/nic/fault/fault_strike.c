/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all faults share: choosing one, telling the caller, damaging data.
 */
#include "base/clock.h"
#include "base/error.h"
#include "nic/fault/fault_nic.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ALWAYS (FAULT_BIT(FAULT_DELAY) | FAULT_BIT(FAULT_FAIL) | FAULT_BIT(FAULT_KILL))

static void count(struct fault *fault)
{
    counter_add_exact(fault->nic.job->counters, COUNTER_FAULT);
}

static void sleep_ns(int64_t duration_ns)
{
    struct timespec left = {.tv_sec = duration_ns / NS_PER_S, .tv_nsec = duration_ns % NS_PER_S};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

int fault_dropped(enum fault_operation operation, int rank, const struct fault_plan *plan)
{
    return error_set(RH_ETIMEOUT, rank, "%s %llu to rank %d was dropped (RHINET_FAULT)",
                     fault_operation_name(operation), (unsigned long long)plan->number, rank);
}

int fault_strike(struct fault *fault, enum fault_operation operation, unsigned possible, int rank,
                 struct fault_plan *plan)
{
    *plan = fault_dice_roll(&fault->dice, operation, possible | ALWAYS);
    if (plan->delay_ns > 0) {
        count(fault);
        sleep_ns(plan->delay_ns);
    }
    if (plan->effect == FAULT_NONE)
        return 0;
    count(fault);
    if (plan->effect == FAULT_KILL)
        raise(SIGKILL);
    if (plan->effect == FAULT_FAIL)
        return error_set(plan->code, rank, "%s %llu failed with \"%s\" (RHINET_FAULT)",
                         fault_operation_name(operation), (unsigned long long)plan->number,
                         rh_error_name(plan->code));
    return 0;
}

static void done_set(struct rh_done *done, int64_t state)
{
    /* release: pairs with the acquire of whoever sees the flag and reuses the memory */
    __atomic_store_n(&done->state, state, __ATOMIC_RELEASE);
}

int fault_answer(const struct nic_extra *extra, int result)
{
    if (!extra || !extra->done)
        return result;
    done_set(extra->done, result < 0 ? result : 1);
    return 0;
}

void fault_flip_bit(void *data, size_t length, uint64_t random)
{
    uint64_t bit = random % ((uint64_t)length * 8);
    ((unsigned char *)data)[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

void *fault_damaged_copy(const void *data, size_t length, uint64_t random)
{
    void *copy = malloc(length);
    if (!copy) {
        error_fail(RH_ENOSPACE, "fault NIC: no memory to corrupt %zu bytes", length);
        return NULL;
    }
    memcpy(copy, data, length);
    fault_flip_bit(copy, length, random);
    return copy;
}

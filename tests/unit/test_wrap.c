/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters that come round, each started shortly before its end: nobody runs a test for the day or
 * the year that it takes to get there.
 */
#include "job/job.h"
#include "msg/set/set.h"
#include "nic/shm/queue_layout.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static struct rh_job *job;

static int join(void **state)
{
    (void)state;
    setenv("RHINET_NIC", "shm", 1);
    return rh_join(&job, NULL);
}

static int leave(void **state)
{
    (void)state;
    return rh_leave(job);
}

/* The queue as it is after so many messages. */
static void age(struct shm_queue *queue, uint64_t number)
{
    for (uint64_t i = 0; i < queue->cut.slot_count; i++) {
        uint64_t round = number_round(&queue->cut, number + i) - 1;
        number_slot(queue, &queue->cut, number + i)->header = make_header(round, 8, 0,
                                                                          SLOT_PUBLISHED);
    }
    queue->head = number;
    queue->tail = number;
}

/* Short ones go by one step, long ones by two. */
static void pass_messages(uint32_t slot_count, size_t length)
{
    struct nic *nic = job->nic;
    struct nic_segment segment = {.sid = 7,
                                  .kind = NIC_SEGMENT_QUEUE,
                                  .rights = RH_WRITE,
                                  .shape = {.slot_count = slot_count, .slot_length = 64}};
    char data[64] = {0};
    assert_int_equal(nic->ops->segment_add(nic, &segment), 0);
    struct shm_queue *queue = segment.base;
    age(queue, ((ROUND_MAX - 2) << queue->cut.slot_shift) + 1);
    for (uint64_t i = 0; i < 10 * slot_count; i++) {
        struct rh_arrival arrival;
        memcpy(data, &i, sizeof(i));
        assert_int_equal(nic->ops->append(nic, rh_at(0, 7, 0), data, length, 0), 0);
        if (slot_count == 1)
            assert_int_equal(nic->ops->append(nic, rh_at(0, 7, 0), data, length, 0), RH_EAGAIN);
        assert_int_equal(nic->ops->queue_peek(nic, segment.base, &arrival), 0);
        assert_int_equal(arrival.length, length);
        assert_memory_equal(arrival.data, data, length);
        nic->ops->queue_release(nic, segment.base);
        assert_int_equal(nic->ops->queue_peek(nic, segment.base, &arrival), RH_EAGAIN);
    }
    assert_int_equal(nic->ops->segment_remove(nic, 7, 0), 0);
}

static void test_queue(void **state)
{
    (void)state;
    for (uint32_t slot_count = 1; slot_count <= 8; slot_count *= 2) {
        pass_messages(slot_count, 8);
        pass_messages(slot_count, 40);
        pass_messages(slot_count, 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue),
    };
    return cmocka_run_group_tests_name("wrap", tests, join, leave);
}

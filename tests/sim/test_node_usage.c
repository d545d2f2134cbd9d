/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the time went: percentiles are near the exact ones, and parts are busy for as long as what
 * they did takes.
 */
#include "node.h"

#include "base/splitmix.h"
#include "sim/usage/usage.h"

#include <stdlib.h>
#include <string.h>

#define COUNT 2000

static int compare(const void *a, const void *b)
{
    sim_time left = *(const sim_time *)a, right = *(const sim_time *)b;
    return (left > right) - (left < right);
}

static void test_percentiles(void **state)
{
    (void)state;
    static struct histogram histogram;
    static sim_time values[COUNT];
    uint64_t chance = 5;
    assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
    for (int i = 0; i < COUNT; i++) {
        values[i] = (sim_time)(splitmix_next(&chance) >> (splitmix_next(&chance) % 40 + 20));
        histogram_add(&histogram, values[i]);
    }
    qsort(values, COUNT, sizeof(values[0]), compare);
    assert_int_equal(histogram.least, values[0]);
    assert_int_equal(histogram.most, values[COUNT - 1]);
    for (double part = 0; part < 1; part += 0.01) {
        double exact = (double)values[(int)(part * COUNT)];
        double got = (double)histogram_quantile(&histogram, part);
        if (got < exact || got > exact * 1.07 + 1)
            fail_msg("%g: %g instead of %g", part, got, exact);
    }
    assert_int_equal(histogram_quantile(&histogram, 1), values[COUNT - 1]);
}

#define STORES 20

static void push_with(struct nodes *nodes, int stores)
{
    struct process_transfer transfer = {
        .peer = nodes->process[1], .local = NODE_DATA, .remote = NODE_DATA, .length = 64 << 10};
    process_ask(nodes->process[0], &transfer, CHIP_PUSH);
    /* stores cut into the transfer */
    for (int i = 0; i < stores; i++)
        host_pio(cluster_host(nodes->cluster, 0), 4, false);
    nodes->result[0] = process_finish(nodes->process[0]);
}

static void long_push(void *argument)
{
    push_with(argument, STORES);
}

static void long_push_alone(void *argument)
{
    push_with(argument, 0);
}

/* Time of the DMA reads, when nobody cuts in. */
static sim_time reads_alone(void)
{
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "push", long_push_alone);
    nodes_run(&nodes);
    sim_time time = host_usage(cluster_host(nodes.cluster, 0))->time[PCI_READ];
    nodes_close(&nodes);
    return time;
}

static void test_bus(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "push", long_push);
    nodes_run(&nodes);
    const struct sim_constants *c = cluster_constants(nodes.cluster, 0);
    const struct host_usage *from = host_usage(cluster_host(nodes.cluster, 0));
    const struct host_usage *to = host_usage(cluster_host(nodes.cluster, 1));
    sim_time busy = 0;
    assert_int_equal(from->bytes[PCI_READ], 64 << 10);
    assert_int_equal(from->transactions[PCI_READ], 32); /* packets */
    assert_true(to->bytes[PCI_WRITE] >= 64 << 10);
    /* a word takes a cycle at least, and stores take what they take */
    assert_true(from->time[PCI_READ] >= (64 << 10) / c->pci_word_bytes * c->pci_ps);
    assert_true(from->time[PCI_PIO] >= STORES * 4 * c->pio_word_ps);
    /* who is cut into addresses again, and the store's time is the store's */
    int64_t again = 2 * c->pci_turn_cycles + c->pci_address_cycles + c->pci_read_cycles;
    assert_true(from->time[PCI_READ] > reads_alone());
    assert_true(from->time[PCI_READ] <= reads_alone() + STORES * again * c->pci_ps);
    for (int i = 0; i < PCI_KINDS; i++)
        busy += from->time[i];
    assert_true(busy <= sim_now(nodes.sim)); /* one at a time */
    assert_int_equal(cluster_latency(nodes.cluster)->count, 32);
    assert_int_equal(cluster_usage(nodes.cluster, 1)->receiving, 0);
    assert_true(cluster_usage(nodes.cluster, 1)->receive_fifo > 0);
    assert_true(cluster_usage(nodes.cluster, 0)->send_fifo > 0);
    nodes_close(&nodes);
}

/* All states of a module together last as long as the run, up to the last change. */
static void test_states(void **state)
{
    (void)state;
    struct nodes nodes;
    nodes_open(&nodes, (struct cluster_spec){0}, true);
    nodes_start(&nodes, "push", long_push);
    nodes_run(&nodes);
    const struct chip *chip = cluster_chip(nodes.cluster, 0);
    sim_time one, sum = 0, busy = 0;
    for (uint32_t i = 0; chip_state_time(chip, CHIP_INITIATOR, i, &one); i++) {
        sum += one;
        busy += i ? one : 0;
    }
    assert_true(sum <= sim_now(nodes.sim));
    assert_true(busy > sum / 2); /* it is its work */
    assert_null(chip_state_text(CHIP_INITIATOR, 8));
    nodes_close(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_bus),
        cmocka_unit_test(test_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

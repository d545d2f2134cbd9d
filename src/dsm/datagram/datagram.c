/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing, and the thread that receives. datagram.h tells how.
 */
#include "base/clock.h"
#include "dsm/datagram/state.h"

#include <stdlib.h>
#include <unistd.h>

#define SLOTS_PER_RANK 64u
#define LOOK_NS        (10 * NS_PER_MS)
#define NAP_US         100

static bool is_ending(void *context)
{
    struct datagram *datagram = context;
    datagram_pump(datagram);
    return atomic_load_explicit(&datagram->is_ending, memory_order_acquire);
}

static void *receive(void *argument)
{
    struct datagram *datagram = argument;
    struct rh_until until = {
        .is_met = is_ending, .context = datagram, .from = RH_ANY_RANK, .timeout_ns = LOOK_NS};
    while (!is_ending(datagram))
        if (rh_wait_until(datagram->dsm->job, &until) == RH_EDEAD)
            usleep(NAP_US); /* a death that the program has not acknowledged ends every wait */
    return NULL;
}

/* ---- Open and close ------------------------------------------------------------------------- */

static void free_all(struct datagram *datagram)
{
    if (datagram->queue)
        rh_queue_destroy(datagram->queue);
    for (int rank = 0; datagram->assemblies && rank < datagram->dsm->size; rank++)
        assembly_destroy(datagram->assemblies[rank]);
    free(datagram->assemblies);
    free(datagram->message_ids);
    free(datagram->answer);
    pthread_mutex_destroy(&datagram->lock);
    pthread_mutex_destroy(&datagram->receiving);
    free(datagram);
}

static int open_datagram(struct rh_dsm *dsm, void **state)
{
    struct rh_queue_shape shape = {.slot_count = SLOTS_PER_RANK * (unsigned)dsm->size,
                                   .slot_length = PACKET_LENGTH};
    struct datagram *datagram = calloc(1, sizeof(*datagram));
    if (!datagram)
        return error_no_memory("datagrams");
    datagram->dsm = dsm;
    pthread_mutex_init(&datagram->lock, NULL);
    pthread_mutex_init(&datagram->receiving, NULL);
    datagram->assemblies = calloc((size_t)dsm->size, sizeof(*datagram->assemblies));
    datagram->message_ids = calloc((size_t)dsm->size, sizeof(*datagram->message_ids));
    datagram->answer = malloc(MESSAGE_MAX);
    int result = datagram->assemblies && datagram->message_ids && datagram->answer
                     ? rh_queue_create(dsm->job, DSM_SID_BULK, shape, &datagram->queue)
                     : error_no_memory("datagrams");
    if (result == 0 && pthread_create(&datagram->thread, NULL, receive, datagram) != 0)
        result = error_fail(RH_ENOSPACE, "no thread for datagrams");
    if (result < 0) {
        free_all(datagram);
        return result;
    }
    *state = datagram;
    return 0;
}

static void close_datagram(struct rh_dsm *dsm, void *state)
{
    struct datagram *datagram = state;
    atomic_store_explicit(&datagram->is_ending, true, memory_order_release);
    pthread_join(datagram->thread, NULL);
    free_all(datagram);
}

const struct dsm_bulk_ops dsm_bulk_datagram = {.name = "datagram",
                                               .open = open_datagram,
                                               .close = close_datagram,
                                               .pull = datagram_pull,
                                               .push = datagram_push};

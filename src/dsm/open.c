/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing the shared memory, which all ranks do together.
 */
#include "base/clock.h"
#include "base/settings.h"
#include "base/struct_size.h"
#include "dsm/bulk.h"
#include "dsm/check.h"
#include "dsm/datagram/datagram.h"
#include "dsm/doubt.h"
#include "dsm/step.h"

#include <stdlib.h>
#include <string.h>

#define SET_ID 65535 /* of the set of all ranks; programs choose theirs from below */

/* So that no sum of lengths in the heap, nor of what is kept for it, overflows. */
#define HEAP_MAX      (1ULL << 48)
#define VARIABLES_MAX (1u << 30)

static int check_options(const struct rh_job *job, const struct rh_dsm_options *options)
{
    if (options && !struct_size_is_sound(options->struct_size, sizeof(*options)))
        return error_fail(RH_EINVALID,
                          "struct_size of the options is %zu, not %zu; set it to sizeof",
                          options->struct_size, sizeof(*options));
    if (options && options->heap_length > HEAP_MAX)
        return error_fail(RH_EINVALID,
                          "a heap of %llu bytes is more than the %llu that there can be",
                          (unsigned long long)options->heap_length, (unsigned long long)HEAP_MAX);
    if (options && options->variable_count > VARIABLES_MAX)
        return error_fail(RH_EINVALID, "%u variables are more than the %u that there can be",
                          options->variable_count, VARIABLES_MAX);
    if (rma_is_open(job))
        return error_fail(RH_EUNSUP, "shared memory is of all ranks of a job, and to an open job "
                                     "more may come; start the program by a launcher");
    if (rh_size(job) > WORD_RANKS_MAX)
        return error_fail(RH_EUNSUP, "shared memory is for up to %d ranks; this job has %d",
                          WORD_RANKS_MAX, rh_size(job));
    return 0;
}

/* ---- Memory --------------------------------------------------------------------------------- */

static void lay_out(struct rh_dsm *dsm, const struct rh_dsm_options *options)
{
    const struct settings *settings = rma_settings(dsm->job);
    dsm->heap_length = options ? options->heap_length : 0;
    if (dsm->heap_length == 0)
        dsm->heap_length = setting_number(settings, SETTING_DSM_HEAP) << 20;
    if (dsm->heap_length < dsm_heap_min())
        dsm->heap_length = dsm_heap_min();
    dsm->heap_length = (dsm->heap_length + 4095) & ~4095ULL;
    dsm->variable_count = options ? options->variable_count : 0;
    if (dsm->variable_count == 0)
        dsm->variable_count = (uint32_t)setting_number(settings, SETTING_DSM_VARIABLES);
    dsm->entry_count = dsm->variable_count + DSM_INTERNAL_COUNT;
    dsm->entries_offset = sizeof(struct dsm_header);
    dsm->bindings_offset = dsm->entries_offset + dsm->entry_count * sizeof(struct dsm_entry);
}

static void fill(struct rh_dsm *dsm, char *control)
{
    struct dsm_header *header = (struct dsm_header *)(void *)control;
    dsm->entries = (struct dsm_entry *)(void *)(control + dsm->entries_offset);
    dsm->bindings = (struct dsm_binding *)(void *)(control + dsm->bindings_offset);
    for (uint32_t i = 0; i < dsm->entry_count; i++) {
        int home = dsm_home(dsm, i);
        uint64_t word = home == dsm->rank ? WORD_OWNER | WORD_VALID : 0;
        dsm->entries[i].word = word_with_hint(word, home);
        dsm->own[i].last_source = -1;
    }
    dsm_heap_open(dsm);
    header->heap_length = dsm->heap_length;
    header->entry_count = dsm->entry_count;
    header->opened_ns = (uint64_t)clock_now_ns();
    __atomic_store_n(&header->is_closed, 0, __ATOMIC_RELEASE);
}

static int make_memory(struct rh_dsm *dsm)
{
    void *control = NULL, *heap = NULL;
    uint64_t length = dsm->bindings_offset + dsm->entry_count * sizeof(struct dsm_binding);
    dsm->own = aligned_alloc(64, dsm->entry_count * sizeof(*dsm->own));
    if (dsm->own)
        memset(dsm->own, 0, dsm->entry_count * sizeof(*dsm->own));
    dsm->peers = calloc((size_t)dsm->size, sizeof(*dsm->peers));
    if (!dsm->own || !dsm->peers)
        return error_no_memory("%u variables", dsm->entry_count);
    int result = rh_segment_alloc(dsm->job, DSM_SID_HEAP, dsm->heap_length, &heap);
    if (result == RH_EEXIST)
        return error_fail(RH_EEXIST,
                          "this job's shared memory is open already; there is one per job");
    if (result < 0)
        return result;
    result = rh_segment_alloc(dsm->job, DSM_SID_CONTROL, length, &control);
    if (result < 0) {
        rh_segment_detach(dsm->job, DSM_SID_HEAP);
        return result;
    }
    dsm->heap = dsm->base = heap;
    fill(dsm, control);
    return 0;
}

static void free_memory(struct rh_dsm *dsm)
{
    if (dsm->heap) {
        rh_segment_detach(dsm->job, DSM_SID_HEAP);
        rh_segment_detach(dsm->job, DSM_SID_CONTROL);
    }
    for (uint32_t i = 0; dsm->own && i < dsm->entry_count; i++) {
        free(dsm->own[i].twin);
        free(dsm->own[i].changed);
    }
    free(dsm->peers);
    free(dsm->own);
}

/* ---- The others ----------------------------------------------------------------------------- */

/* All find that somebody differs. Whoever does so first keeps its part until the last has. */
static int refuse_shape(struct rh_dsm *dsm, int rank, const struct dsm_header *header)
{
    rh_barrier(dsm->set, RH_TIMEOUT_DEFAULT);
    return error_set(RH_EINVALID, rank,
                     "rank %d has %llu bytes of shared memory and %llu variables, this one "
                     "%llu and %u; give all ranks the same options and settings",
                     rank, (unsigned long long)header->heap_length,
                     (unsigned long long)header->entry_count, (unsigned long long)dsm->heap_length,
                     dsm->entry_count);
}

/* Its segments are there: see that they are like ours, and how they are reached. */
static int meet(struct rh_dsm *dsm, int rank)
{
    struct dsm_header header;
    struct dsm_peer *peer = &dsm->peers[rank];
    int result = rh_pull(dsm->job, rh_at(rank, DSM_SID_CONTROL, 0), &header, sizeof(header));
    if (result < 0)
        return result;
    if (header.heap_length != dsm->heap_length || header.entry_count != dsm->entry_count)
        return refuse_shape(dsm, rank, &header);
    peer->opened_ns = header.opened_ns;
    peer->entries = rh_remote_ptr(dsm->job, rh_at(rank, DSM_SID_CONTROL, dsm->entries_offset),
                                  dsm->entry_count * sizeof(struct dsm_entry));
    peer->heap = rh_remote_ptr(dsm->job, rh_at(rank, DSM_SID_HEAP, 0), dsm->heap_length);
    return 0;
}

/* A part that is closed is of the time before, and will go. */
static bool is_open(struct rh_dsm *dsm, int rank)
{
    uint64_t is_closed = 1;
    struct rh_remote flag = rh_at(rank, DSM_SID_CONTROL, offsetof(struct dsm_header, is_closed));
    if (rh_segment_wait(dsm->job, rank, DSM_SID_CONTROL, RH_TIMEOUT_NONE) < 0)
        return false;
    return rh_pull(dsm->job, flag, &is_closed, sizeof(is_closed)) == 0 && !is_closed;
}

static bool all_are_open(void *context)
{
    struct rh_dsm *dsm = context;
    while (dsm->met_count < dsm->size && is_open(dsm, dsm->met_count))
        dsm->met_count++;
    return dsm->met_count == dsm->size;
}

/* The control memory is made after the mailbox: where it is, that is too. */
static int await_all(struct rh_dsm *dsm)
{
    struct rh_until until = {.is_met = all_are_open,
                             .context = dsm,
                             .from = RH_ANY_RANK,
                             .timeout_ns = RH_TIMEOUT_DEFAULT};
    int result = rh_wait_until(dsm->job, &until);
    if (result != RH_ETIMEOUT)
        return result;
    return error_set(RH_ETIMEOUT, dsm->met_count,
                     "rank %d has not opened its shared memory; all ranks call rh_dsm_open()",
                     dsm->met_count);
}

static int meet_all(struct rh_dsm *dsm)
{
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = SET_ID};
    int result = await_all(dsm);
    if (result == 0)
        result = rh_set_create(dsm->msg, &spec, &dsm->set);
    if (result == 0)
        result = rh_barrier(dsm->set, RH_TIMEOUT_DEFAULT);
    for (int rank = 0; rank < dsm->size && result == 0; rank++) {
        dsm->peers[rank].state = rma_peer_state(dsm->job, rank);
        if (rank != dsm->rank)
            result = meet(dsm, rank);
    }
    dsm->peers[dsm->rank].entries = dsm->entries;
    dsm->peers[dsm->rank].heap = dsm->heap;
    return result;
}

/* ---- The calls ------------------------------------------------------------------------------ */

static void close_set(struct rh_dsm *dsm)
{
    if (dsm->set)
        rh_set_destroy(dsm->set);
    if (dsm->has_own_msg)
        rh_msg_close(dsm->msg);
}

static void free_all(struct rh_dsm *dsm)
{
    close_set(dsm);
    free_memory(dsm);
    dsm_doubts_close(dsm);
    pthread_mutex_destroy(&dsm->conditions);
    pthread_mutex_destroy(&dsm->adopting);
    free(dsm);
}

/* Whether all living ranks have closed their part, so that opening again finds nothing old. */
static bool all_are_closed(void *context)
{
    struct rh_dsm *dsm = context;
    for (int rank = 0; rank < dsm->size; rank++) {
        struct dsm_header header = {.is_closed = 1};
        if (rank != dsm->rank && !dsm_is_gone(dsm, rank)) /* no answer: long closed */
            rh_pull(dsm->job, rh_at(rank, DSM_SID_CONTROL, 0), &header, sizeof(header));
        if (!header.is_closed && header.opened_ns == dsm->peers[rank].opened_ns)
            return false; /* else it may even have opened again */
    }
    return true;
}

/* Keep our part in sight until the others have seen that it is closed. */
static void close_together(struct rh_dsm *dsm)
{
    struct dsm_header *header = (struct dsm_header *)(void *)((char *)dsm->entries -
                                                              dsm->entries_offset);
    struct rh_until until = {.is_met = all_are_closed,
                             .context = dsm,
                             .from = dsm->rank, /* the dead need not come */
                             .timeout_ns = RH_TIMEOUT_DEFAULT};
    __atomic_store_n(&header->is_closed, 1, __ATOMIC_SEQ_CST);
    rh_wait_until(dsm->job, &until);
}

static int open_parts(struct rh_dsm *dsm, struct rh_msg *msg)
{
    int result = dsm_doubts_open(dsm);
    dsm->msg = msg;
    if (!msg && result == 0) {
        result = rh_msg_open(&dsm->msg, dsm->job);
        dsm->has_own_msg = result == 0;
    }
    if (result == 0)
        result = make_memory(dsm);
    if (result == 0)
        result = meet_all(dsm);
    if (result == 0)
        result = dsm->bulk->open(dsm, &dsm->bulk_state);
    if (result < 0)
        return result;
    result = rh_barrier(dsm->set, RH_TIMEOUT_DEFAULT);
    if (result == 0 && setting_number(rma_settings(dsm->job), SETTING_DSM_CHECK) == 1)
        result = dsm_check_open(dsm);
    if (result < 0)
        dsm->bulk->close(dsm, dsm->bulk_state);
    return result;
}

int rh_dsm_open(struct rh_dsm **dsm, struct rh_job *job, const struct rh_dsm_options *options)
{
    int result = check_options(job, options);
    if (result < 0)
        return result;
    struct rh_dsm *made = aligned_alloc(64, (sizeof(*made) + 63) & ~63ULL);
    if (!made)
        return error_no_memory("the shared memory's handle");
    memset(made, 0, sizeof(*made));
    pthread_mutex_init(&made->conditions, NULL);
    pthread_mutex_init(&made->adopting, NULL);
    made->job = job;
    made->counters = rma_counters(job);
    made->rank = rh_rank(job);
    made->size = rh_size(job);
    bool by_datagrams = strcmp(setting_text(rma_settings(job), SETTING_DSM_BULK), "datagram") == 0;
    made->bulk = by_datagrams ? &dsm_bulk_datagram : &dsm_bulk_rdma;
    lay_out(made, options);
    result = open_parts(made, options ? options->msg : NULL);
    if (result < 0) {
        struct error_state why; /* undoing waits for others, and waits have errors of their own */
        error_save(&why);
        free_all(made);
        error_restore(&why);
        return result;
    }
    *dsm = made;
    return 0;
}

int rh_dsm_close(struct rh_dsm *dsm)
{
    dsm_settle_all(dsm, RH_TIMEOUT_DEFAULT);  /* others may wait for it before they come */
    rh_barrier(dsm->set, RH_TIMEOUT_DEFAULT); /* the dead need not come */
    dsm->bulk->close(dsm, dsm->bulk_state);
    if (dsm->check)
        dsm_check_close(dsm);
    close_set(dsm);
    close_together(dsm);
    free_memory(dsm);
    dsm_doubts_close(dsm);
    pthread_mutex_destroy(&dsm->conditions);
    pthread_mutex_destroy(&dsm->adopting);
    free(dsm);
    return 0;
}

struct rh_msg *rh_dsm_msg(const struct rh_dsm *dsm)
{
    return dsm->msg;
}

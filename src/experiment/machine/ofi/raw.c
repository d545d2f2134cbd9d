/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The raw programs beside the libfabric NICs: an endpoint of their own, of the same provider and in
 * the same processes, used as directly as libfabric allows. No checks, no deaths, no deadlines, no
 * threads.
 */
#include "base/error.h"
#include "base/settings.h"
#include "experiment/machine/ofi/ofi.h"
#include "nic/ofi/library.h"
#include "nic/ofi/ofi.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECEIVES   64
#define WINDOW     BENCH_OFI_WINDOW
#define KEY        77
#define CARD_ROOM  256
#define WORD_END   64u /* of the memory: tells the passive side that a loop is over */
#define WORD_PUSH  128u
#define BLOCK_AT   4096u
#define RAW_MEMORY (BLOCK_AT + BENCH_BLOCK_LENGTH)

struct card {
    uint64_t key, address;
    uint64_t name_length;
    char name[CARD_ROOM];
};

struct raw_ofi {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_mr *mr, *block_mr;
    struct fi_context2 contexts[RECEIVES];
    struct fi_context2 transfers[WINDOW];
    uint64_t messages[RECEIVES];
    uint64_t received_count, completed_count;
    uint64_t last_received;
    char *memory;
    struct card peer;
    fi_addr_t address;
};

static int failed(const char *what, ssize_t code)
{
    return error_fail(RH_EUNSUP, "raw libfabric: %s: %s", what, ofi_library.strerror((int)-code));
}

/* ---- Opening -------------------------------------------------------------------------------- */

static int get_info(struct raw_ofi *raw, const char *provider)
{
    struct fi_info *hints = ofi_library.dupinfo(NULL);
    if (!hints)
        return failed("memory", -FI_ENOMEM);
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->fabric_attr->prov_name = strdup(provider);
    bool has_ip = strncmp(provider, "tcp", 3) == 0 || strncmp(provider, "net", 3) == 0;
    int result = ofi_library.getinfo(FI_VERSION(1, 17), has_ip ? "127.0.0.1" : NULL, NULL,
                                     has_ip ? FI_SOURCE : 0, hints, &raw->info);
    ofi_library.freeinfo(hints);
    return result < 0 ? failed("fi_getinfo", result) : 0;
}

static ssize_t open_objects(struct raw_ofi *raw)
{
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE, .size = 1024};
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    ssize_t result = ofi_library.fabric(raw->info->fabric_attr, &raw->fabric, NULL);
    if (result == 0)
        result = fi_domain(raw->fabric, raw->info, &raw->domain, NULL);
    if (result == 0)
        result = fi_cq_open(raw->domain, &queue, &raw->cq, NULL);
    if (result == 0)
        result = fi_av_open(raw->domain, &table, &raw->av, NULL);
    if (result == 0)
        result = fi_endpoint(raw->domain, raw->info, &raw->ep, NULL);
    if (result == 0)
        result = fi_ep_bind(raw->ep, &raw->av->fid, 0);
    if (result == 0)
        result = fi_ep_bind(raw->ep, &raw->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
    if (result == 0)
        result = fi_ep_bind(raw->ep, &raw->cq->fid, FI_RECV);
    return result == 0 ? fi_enable(raw->ep) : result;
}

static ssize_t open_memory(struct bench_run *run, struct raw_ofi *raw)
{
    raw->memory = aligned_alloc(4096, RAW_MEMORY);
    if (!raw->memory)
        return -FI_ENOMEM;
    memset(raw->memory, 0, RAW_MEMORY);
    ssize_t result = fi_mr_reg(raw->domain, raw->memory, RAW_MEMORY,
                               FI_REMOTE_WRITE | FI_WRITE | FI_SEND | FI_RECV, 0, KEY, 0, &raw->mr,
                               NULL);
    if (result == 0)
        result = fi_mr_reg(raw->domain, run->block, BENCH_BLOCK_LENGTH, FI_WRITE, 0, KEY + 1, 0,
                           &raw->block_mr, NULL);
    for (int i = 0; i < RECEIVES && result == 0; i++)
        result = fi_recv(raw->ep, &raw->messages[i], sizeof(raw->messages[i]), NULL, FI_ADDR_UNSPEC,
                         &raw->contexts[i]);
    return result;
}

/* Each writes its card into the other's segment, the length last. */
static int exchange_cards(struct bench_run *run, struct raw_ofi *raw)
{
    struct card own = {.key = fi_mr_key(raw->mr), .name_length = CARD_ROOM};
    if (raw->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        own.address = (uint64_t)(uintptr_t)raw->memory;
    size_t length = CARD_ROOM;
    ssize_t named = fi_getname(&raw->ep->fid, own.name, &length);
    if (named < 0)
        return failed("fi_getname", named);
    own.name_length = length;
    uint64_t *filled = bench_word(run->memory, BENCH_WORD_MEET);
    struct rh_notice notice = {.word = rh_at(run->peer, BENCH_SID, BENCH_WORD_MEET),
                               .value = ++run->meeting};
    int result = rh_push_notify(run->job, rh_at(run->peer, BENCH_SID, BENCH_LINES_AT), &own,
                                sizeof(own), &notice);
    struct rh_wait wait = {.word = filled,
                           .when = RH_AT_LEAST,
                           .value = run->meeting,
                           .from = run->peer,
                           .timeout_ns = RH_TIMEOUT_DEFAULT};
    if (result == 0)
        result = rh_wait_word(run->job, &wait);
    if (result < 0)
        return result;
    memcpy(&raw->peer, run->memory + BENCH_LINES_AT, sizeof(raw->peer));
    int inserted = fi_av_insert(raw->av, raw->peer.name, 1, &raw->address, 0, NULL);
    return inserted == 1 ? 0 : failed("fi_av_insert", inserted);
}

int raw_ofi_open_by(struct bench_run *run, const char *provider)
{
    struct raw_ofi *raw = calloc(1, sizeof(*raw));
    if (!raw)
        return failed("memory", -FI_ENOMEM);
    run->raw_ofi = raw;
    int result = ofi_library_load();
    if (result == 0)
        result = get_info(raw, provider);
    if (result < 0)
        return result;
    ssize_t opened = open_objects(raw);
    if (opened == 0)
        opened = open_memory(run, raw);
    return opened < 0 ? failed("opening", opened) : exchange_cards(run, raw);
}

/* By the provider that the NIC takes. */
int raw_ofi_open(struct bench_run *run)
{
    struct settings settings;
    struct ofi_choice choice;
    if (settings_load(&settings, environ) < 0)
        return RH_EINVALID;
    ofi_choose(&settings, &choice);
    if (choice.provider[0] == '\0')
        return error_fail(RH_EUNSUP, "%s", choice.reason);
    return raw_ofi_open_by(run, choice.provider);
}

static void close_object(struct fid *object)
{
    if (object)
        fi_close(object);
}

void raw_ofi_close(struct bench_run *run)
{
    struct raw_ofi *raw = run->raw_ofi;
    if (!raw)
        return;
    close_object(raw->ep ? &raw->ep->fid : NULL);
    close_object(raw->mr ? &raw->mr->fid : NULL);
    close_object(raw->block_mr ? &raw->block_mr->fid : NULL);
    close_object(raw->av ? &raw->av->fid : NULL);
    close_object(raw->cq ? &raw->cq->fid : NULL);
    close_object(raw->domain ? &raw->domain->fid : NULL);
    close_object(raw->fabric ? &raw->fabric->fid : NULL);
    if (raw->info)
        ofi_library.freeinfo(raw->info);
    free(raw->memory);
    free(raw);
    run->raw_ofi = NULL;
}

/* ---- The minimum ---------------------------------------------------------------------------- */

static int look(struct raw_ofi *raw)
{
    struct fi_cq_data_entry entry[8];
    ssize_t count = fi_cq_read(raw->cq, entry, 8);
    if (count == -FI_EAGAIN)
        return 0;
    if (count < 0)
        return failed("fi_cq_read", count);
    for (ssize_t i = 0; i < count; i++) {
        if (!(entry[i].flags & FI_RECV)) {
            raw->completed_count++;
            continue;
        }
        struct fi_context2 *context = entry[i].op_context;
        uint64_t *message = &raw->messages[context - raw->contexts];
        raw->last_received = *message;
        raw->received_count++;
        ssize_t result = fi_recv(raw->ep, message, sizeof(*message), NULL, FI_ADDR_UNSPEC, context);
        if (result < 0)
            return failed("fi_recv", result);
    }
    return 0;
}

/* Again while the provider is busy. */
#define UNTIL_TAKEN(raw, call)                                                                     \
    ({                                                                                             \
        ssize_t taken;                                                                             \
        while ((taken = (call)) == -FI_EAGAIN && look(raw) == 0)                                   \
            ;                                                                                      \
        taken < 0 ? failed(#call, taken) : 0;                                                      \
    })

static int await_word(struct raw_ofi *raw, uint64_t offset, uint64_t value)
{
    const uint64_t *word = bench_word(raw->memory, offset);
    int result = 0;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value && result == 0)
        result = look(raw);
    return result;
}

static int inject_word(struct raw_ofi *raw, uint64_t offset, uint64_t value)
{
    return UNTIL_TAKEN(raw, fi_inject_write(raw->ep, &value, sizeof(value), raw->address,
                                            raw->peer.address + offset, raw->peer.key));
}

static int start_write(struct raw_ofi *raw, const void *source, size_t length, uint64_t offset,
                       uint64_t flags)
{
    struct iovec local = {.iov_base = (void *)(uintptr_t)source, .iov_len = length};
    struct fi_rma_iov remote = {
        .addr = raw->peer.address + offset, .len = length, .key = raw->peer.key};
    void *description = fi_mr_desc(raw->block_mr);
    struct fi_msg_rma request = {.msg_iov = &local,
                                 .desc = &description,
                                 .iov_count = 1,
                                 .addr = raw->address,
                                 .rma_iov = &remote,
                                 .rma_iov_count = 1,
                                 .context = &raw->transfers[raw->completed_count % WINDOW]};
    return UNTIL_TAKEN(raw, fi_writemsg(raw->ep, &request, flags | FI_COMPLETION));
}

static int await_completions(struct raw_ofi *raw, uint64_t count)
{
    int result = 0;
    while (raw->completed_count < count && result == 0)
        result = look(raw);
    return result;
}

/* ---- Loops ---------------------------------------------------------------------------------- */

/* Rank 0 does something to rank 1, which looks at its completion queue until told that it is
 * over. */
static int active(struct bench_run *run, bench_chunk chunk, unsigned count)
{
    struct raw_ofi *raw = run->raw_ofi;
    uint64_t number = ++run->sequence;
    if (run->rank != 0)
        return await_word(raw, WORD_END, number);
    int result = chunk(run, count);
    return result < 0 ? result : inject_word(raw, WORD_END, number);
}

static int write_words(struct bench_run *run, unsigned count)
{
    struct raw_ofi *raw = run->raw_ofi;
    int result = 0;
    for (uint64_t i = 0; i < count && result == 0; i++) {
        uint64_t completed = raw->completed_count;
        result = start_write(raw, &i, sizeof(i), WORD_PUSH, FI_INJECT | FI_DELIVERY_COMPLETE);
        if (result == 0)
            result = await_completions(raw, completed + 1);
    }
    return result;
}

static int write_blocks(struct bench_run *run, unsigned count)
{
    struct raw_ofi *raw = run->raw_ofi;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t completed = raw->completed_count;
        result = start_write(raw, run->block, BENCH_BLOCK_LENGTH, BLOCK_AT, FI_DELIVERY_COMPLETE);
        if (result == 0)
            result = await_completions(raw, completed + 1);
    }
    return result;
}

static int stream_blocks(struct bench_run *run, unsigned count)
{
    struct raw_ofi *raw = run->raw_ofi;
    uint64_t before = raw->completed_count;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        if (i >= WINDOW)
            result = await_completions(raw, before + i - WINDOW + 1);
        if (result == 0)
            result = start_write(raw, run->block, BENCH_BLOCK_LENGTH, BLOCK_AT,
                                 FI_DELIVERY_COMPLETE);
    }
    return result < 0 ? result : await_completions(raw, before + count);
}

static int words_chunk(struct bench_run *run, unsigned count)
{
    return active(run, write_words, count);
}

static int blocks_chunk(struct bench_run *run, unsigned count)
{
    return active(run, write_blocks, count);
}

static int stream_chunk(struct bench_run *run, unsigned count)
{
    return active(run, stream_blocks, count);
}

static int inject_chunk(struct bench_run *run, unsigned count)
{
    struct raw_ofi *raw = run->raw_ofi;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t number = ++run->sequence;
        if (run->rank == 0)
            result |= inject_word(raw, WORD_PUSH, number);
        result |= await_word(raw, WORD_PUSH, number);
        if (run->rank != 0)
            result |= inject_word(raw, WORD_PUSH, number);
    }
    return result;
}

static int send_chunk(struct bench_run *run, unsigned count)
{
    struct raw_ofi *raw = run->raw_ofi;
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++) {
        uint64_t awaited = raw->received_count + 1, number = i;
        if (run->rank == 0)
            result |= UNTIL_TAKEN(raw, fi_inject(raw->ep, &number, 8, raw->address));
        while (raw->received_count < awaited && result == 0)
            result |= look(raw);
        if (run->rank != 0)
            result |= UNTIL_TAKEN(raw, fi_inject(raw->ep, &number, 8, raw->address));
    }
    return result;
}

BENCH_MEASURE(raw_ofi_words, bench_time_together, words_chunk, BENCH_OFI_WORDS)
BENCH_MEASURE(raw_ofi_blocks, bench_blocks_together, blocks_chunk, BENCH_OFI_BLOCKS)
BENCH_MEASURE(raw_ofi_stream, bench_blocks_together, stream_chunk, BENCH_OFI_BLOCKS)
BENCH_MEASURE(raw_ofi_inject, bench_one_way, inject_chunk)
BENCH_MEASURE(raw_ofi_send, bench_one_way, send_chunk)

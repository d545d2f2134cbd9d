/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stranger writes to rank 0: rank 1 opens an endpoint of its own, learns where rank 0's NIC is,
 * and sends it messages without the right token: short ones, long ones, and one that claims to be a
 * push of rank 1. Rank 0 must count them all, and its memory must stay as it is.
 */
#include "job/job.h"
#include "nic/ofi/ofi_nic.h"

#include <rhinet/rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SID       1
#define STRANGERS 5
#define LOOK_US   1000
#define LOOKS     20000 /* then something hangs */

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "FAIL line %d: %s; %s\n", __LINE__, #condition, rh_error_text());      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct endpoint {
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    fi_addr_t target;
};

static struct endpoint open_endpoint(const struct ofi_card *card)
{
    struct endpoint made;
    struct fi_info *hints = ofi_library.dupinfo(NULL), *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_DATA};
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    MUST(hints != NULL);
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(card->provider);
    MUST(ofi_library.getinfo(OFI_API, "127.0.0.1", NULL, FI_SOURCE, hints, &info) == 0);
    MUST(ofi_library.fabric(info->fabric_attr, &fabric, NULL) == 0);
    MUST(fi_domain(fabric, info, &domain, NULL) == 0);
    MUST(fi_cq_open(domain, &queue, &made.cq, NULL) == 0);
    MUST(fi_av_open(domain, &table, &made.av, NULL) == 0);
    MUST(fi_endpoint(domain, info, &made.ep, NULL) == 0);
    MUST(fi_ep_bind(made.ep, &made.cq->fid, FI_TRANSMIT | FI_RECV) == 0);
    MUST(fi_ep_bind(made.ep, &made.av->fid, 0) == 0);
    MUST(fi_enable(made.ep) == 0);
    MUST(fi_av_insert(made.av, card->address, 1, &made.target, 0, NULL) == 1);
    return made;
}

static void send_strange(struct endpoint *endpoint, const void *data, size_t length)
{
    struct fi_cq_data_entry entry;
    ssize_t result = -FI_EAGAIN;
    for (int i = 0; i < LOOKS && result == -FI_EAGAIN; i++) {
        result = fi_inject(endpoint->ep, data, length, endpoint->target);
        fi_cq_read(endpoint->cq, &entry, 1);
        if (result == -FI_EAGAIN)
            usleep(LOOK_US);
    }
    MUST(result == 0);
    for (int i = 0; i < 10; i++) {
        fi_cq_read(endpoint->cq, &entry, 1);
        usleep(LOOK_US);
    }
}

static void be_stranger(struct rh_job *job)
{
    struct ofi_card card;
    size_t length = sizeof(card);
    unsigned char noise[64];
    memset(noise, 0xa5, sizeof(noise));
    MUST(rh_segment_wait(job, 0, SID, RH_TIMEOUT_DEFAULT) == 0);
    MUST(job->broker.card_get(job->broker.context, 0, &card, &length) == 0);
    struct endpoint endpoint = open_endpoint(&card);
    struct ofi_message forged = {.head = ofi_head(OFI_PUT, SID, 0)};
    forged.head.sender = 1;
    forged.head.length = 8;
    forged.head.token = 0x1234;
    forged.body[0] = 1;
    send_strange(&endpoint, noise, 1);
    send_strange(&endpoint, noise, 39);
    send_strange(&endpoint, noise, 40);
    send_strange(&endpoint, noise, 64);
    send_strange(&endpoint, &forged, sizeof(forged.head) + 8);
}

static void be_target(struct rh_job *job)
{
    void *base;
    uint64_t count = 0;
    MUST(rh_segment_alloc(job, SID, 64, &base) == 0);
    for (int i = 0; i < LOOKS && count < STRANGERS; i++) {
        struct rh_wait wait = {
            .word = base, .when = RH_NOT_EQUAL, .from = 1, .timeout_ns = RH_MILLISECONDS(1)};
        MUST(rh_wait_word(job, &wait) == RH_ETIMEOUT);
        MUST(rh_counter(job, "denied_stranger", &count) == 0);
    }
    MUST(count == STRANGERS);
    uint64_t value = 1;
    MUST(rh_push(job, rh_at(1, SID, 0), &value, 8) == 0);
    printf("ok %llu strangers\n", (unsigned long long)count);
}

int main(void)
{
    struct rh_job *job;
    MUST(rh_join(&job, NULL) == 0);
    if (rh_rank(job) == 0) {
        be_target(job);
    } else {
        void *base;
        MUST(rh_segment_alloc(job, SID, 64, &base) == 0);
        struct rh_wait wait = {.word = base,
                               .when = RH_EQUAL,
                               .value = 1,
                               .from = 0,
                               .timeout_ns = RH_TIMEOUT_DEFAULT};
        be_stranger(job);
        MUST(rh_wait_word(job, &wait) == 0);
    }
    return rh_leave(job) == 0 ? 0 : 1;
}

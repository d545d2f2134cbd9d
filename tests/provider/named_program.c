/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two libfabric programs that know of each other a node and a service only: `named_program NAME`
 * waits for messages under that name, and makes no call meanwhile, since its domain makes progress
 * by itself; `named_program NAME peer` looks for it, before or after it is there, and writes into
 * its memory. Then event queues and shared contexts, for which one process is enough. Prints "ok
 * CASE"; what is wrong is said, exit 1.
 */
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 60
#define KEY     7
#define WORDS   (1 << 16)

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        long long code = (call);                                                                   \
        if (code != 0) {                                                                           \
            fprintf(stderr, "%s:%d: %s: %lld %s\n", __FILE__, __LINE__, #call, code,               \
                    fi_strerror((int)-code));                                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static _Atomic uint64_t memory[WORDS];

static time_t deadline;

static void hurry(void)
{
    struct timespec nap = {.tv_nsec = 1000000};
    EXPECT(time(NULL) < deadline);
    nanosleep(&nap, NULL);
}

static int ask(const char *node, const char *service, uint64_t flags, struct fi_info **answer)
{
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
    hints->fabric_attr->prov_name = strdup("rhinet");
    int result = fi_getinfo(FI_VERSION(1, 17), node, service, flags, hints, answer);
    fi_freeinfo(hints);
    return result;
}

static void open_all(void)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG};
    OK(fi_fabric(info->fabric_attr, &fabric, NULL));
    OK(fi_domain(fabric, info, &domain, NULL));
    OK(fi_av_open(domain, &av_attr, &av, NULL));
    OK(fi_cq_open(domain, &cq_attr, &cq, NULL));
    OK(fi_endpoint(domain, info, &ep, NULL));
    OK(fi_ep_bind(ep, &av->fid, 0));
    OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
    OK(fi_enable(ep));
}

static void close_all(void)
{
    OK(fi_close(&ep->fid));
    OK(fi_close(&cq->fid));
    OK(fi_close(&av->fid));
    OK(fi_close(&domain->fid));
    OK(fi_close(&fabric->fid));
    fi_freeinfo(info);
}

static void next(void)
{
    struct fi_cq_msg_entry entry;
    ssize_t result;
    while ((result = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        EXPECT(time(NULL) < deadline);
    EXPECT(result == 1);
}

/* ---- Who is looked for ---------------------------------------------------------------------- */

static void serve(const char *name)
{
    struct fid_mr *mr;
    fi_addr_t self;
    OK(ask("localhost", name, FI_SOURCE, &info));
    EXPECT(info->src_addrlen > 0 && info->dest_addrlen == 0);
    EXPECT(info->domain_attr->data_progress == FI_PROGRESS_AUTO);
    open_all();
    OK(fi_mr_reg(domain, (void *)memory, sizeof(memory), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
                 0, &mr, NULL));
    EXPECT(fi_av_insertsvc(av, "127.0.0.1", name, &self, 0, NULL) == 1); /* it knows itself */
    EXPECT(fi_av_insertsvc(av, "192.0.2.1", name, &self, 0, NULL) < 0);  /* of no host at all */
    while (atomic_load(&memory[0]) != 1)
        hurry();
    for (int i = 1; i < WORDS; i++)
        EXPECT(memory[i] == (uint64_t)i);
    atomic_store(&memory[0], 2); /* the other reads it, and goes */
    while (atomic_load(&memory[0]) != 3)
        hurry();
    OK(fi_close(&mr->fid));
    close_all();
    printf("ok served\n");
}

/* ---- Who looks ------------------------------------------------------------------------------ */

static void move(bool is_write, uint64_t *words, size_t count, fi_addr_t to, uint64_t offset)
{
    ssize_t result;
    size_t length = count * sizeof(*words);
    do {
        result = is_write ? fi_write(ep, words, length, NULL, to, offset, KEY, NULL)
                          : fi_read(ep, words, length, NULL, to, offset, KEY, NULL);
        if (result == -FI_EAGAIN)
            hurry();
    } while (result == -FI_EAGAIN);
    OK(result);
    next();
}

/* Refused until the other has registered its memory. */
static void knock(fi_addr_t to)
{
    uint64_t word;
    struct fi_cq_msg_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t result, end = -FI_EAVAIL;
    while (end == -FI_EAVAIL) {
        while ((result = fi_read(ep, &word, sizeof(word), NULL, to, 0, KEY, NULL)) == -FI_EAGAIN)
            hurry();
        OK(result);
        while ((end = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
            EXPECT(time(NULL) < deadline);
        if (end == -FI_EAVAIL)
            EXPECT(fi_cq_readerr(cq, &error, 0) == 1 && error.err == FI_EACCES);
    }
    EXPECT(end == 1);
}

static void look_for(const char *name)
{
    uint64_t *words = calloc(WORDS, sizeof(*words));
    char text[128], host[256];
    size_t length = sizeof(text);
    fi_addr_t to;
    struct fi_info *none;
    EXPECT(ask("192.0.2.1", name, 0, &none) == -FI_ENODATA);
    EXPECT(ask("no.such.host.invalid", name, FI_NUMERICHOST, &none) == -FI_ENODATA);
    EXPECT(ask(NULL, "a name that is longer than an address has room for; really too long", 0,
               &none) == -FI_ENODATA);
    EXPECT(gethostname(host, sizeof(host)) == 0);
    if (ask(host, name, 0, &none) == 0) /* if it knows its own name */
        fi_freeinfo(none);
    OK(ask("127.0.0.1", name, FI_NUMERICHOST, &info));
    EXPECT(info->src_addrlen > 0 && info->dest_addrlen == info->src_addrlen);
    open_all();
    EXPECT(fi_av_insert(av, info->dest_addr, 1, &to, 0, NULL) == 1);
    fi_av_straddr(av, info->dest_addr, text, &length);
    EXPECT(strncmp(text, "rhinet://", 9) == 0 && strcmp(text + 9, name) == 0);
    knock(to);
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint64_t)i;
    move(true, words + 1, WORDS - 1, to, sizeof(*words));
    words[0] = 1;
    move(true, words, 1, to, 0);
    while (words[0] != 2)
        move(false, words, 1, to, 0);
    words[0] = 3;
    move(true, words, 1, to, 0);
    close_all();
    free(words);
    printf("ok found\n");
}

/* ---- Event queues --------------------------------------------------------------------------- */

static void events(void)
{
    struct fi_eq_attr attr = {.size = 2, .flags = FI_WRITE, .wait_obj = FI_WAIT_FD};
    struct fi_eq_entry entry = {.context = &attr}, got;
    struct fid_eq *eq;
    uint32_t what;
    int descriptor;
    struct fid *fids[1];
    OK(ask(NULL, NULL, 0, &info));
    OK(fi_fabric(info->fabric_attr, &fabric, NULL));
    OK(fi_eq_open(fabric, &attr, &eq, NULL));
    fids[0] = &eq->fid;
    OK(fi_control(&eq->fid, FI_GETWAIT, &descriptor));
    struct pollfd ready = {.fd = descriptor, .events = POLLIN};
    OK(fi_trywait(fabric, fids, 1));
    EXPECT(poll(&ready, 1, 0) == 0);
    EXPECT(fi_eq_read(eq, &what, &got, sizeof(got), 0) == -FI_EAGAIN);
    EXPECT(fi_eq_sread(eq, &what, &got, sizeof(got), 1, 0) == -FI_EAGAIN);
    for (int i = 0; i < 2; i++)
        EXPECT(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0) == sizeof(entry));
    EXPECT(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0) == -FI_EAGAIN); /* full */
    EXPECT(poll(&ready, 1, 0) == 1 && fi_trywait(fabric, fids, 1) == -FI_EAGAIN);
    EXPECT(fi_eq_read(eq, &what, &got, sizeof(got) - 1, 0) == -FI_ETOOSMALL);
    EXPECT(fi_eq_read(eq, &what, &got, sizeof(got), FI_PEEK) == sizeof(got));
    for (int i = 0; i < 2; i++) {
        memset(&got, 0, sizeof(got));
        EXPECT(fi_eq_sread(eq, &what, &got, sizeof(got), -1, 0) == sizeof(got));
        EXPECT(what == FI_NOTIFY && got.context == &attr);
    }
    EXPECT(poll(&ready, 1, 0) == 0);
    OK(fi_close(&eq->fid));
    OK(fi_close(&fabric->fid));
    fi_freeinfo(info);
    printf("ok events\n");
}

/* ---- Shared contexts ------------------------------------------------------------------------ */

static void shared_sends(void)
{
    struct fi_info *hints = fi_allocinfo(), *none;
    struct fid_stx *stx;
    struct fid_ep *second, *refused;
    struct fi_cq_msg_entry entry;
    fi_addr_t to[2];
    char name[256], word = 'w', got = 0;
    size_t length = sizeof(name);
    hints->ep_attr->type = FI_EP_RDM;
    hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    hints->caps = FI_MSG;
    hints->fabric_attr->prov_name = strdup("rhinet");
    OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    EXPECT(info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT);
    hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    EXPECT(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
    fi_freeinfo(hints);
    open_all();
    EXPECT(fi_srx_context(domain, NULL, &refused, NULL) == -FI_ENOSYS);
    OK(fi_stx_context(domain, NULL, &stx, NULL));
    OK(fi_endpoint(domain, info, &second, NULL));
    OK(fi_ep_bind(second, &stx->fid, 0));
    OK(fi_ep_bind(second, &av->fid, 0));
    OK(fi_ep_bind(second, &cq->fid, FI_TRANSMIT | FI_RECV));
    OK(fi_enable(second));
    OK(fi_getname(&ep->fid, name, &length));
    EXPECT(fi_av_insert(av, name, 1, to, 0, NULL) == 1);
    OK(fi_recv(ep, &got, 1, NULL, FI_ADDR_UNSPEC, &got));
    OK(fi_send(second, &word, 1, NULL, to[0], &word));
    for (int i = 0; i < 2; i++) {
        while (fi_cq_read(cq, &entry, 1) == -FI_EAGAIN)
            EXPECT(time(NULL) < deadline);
        EXPECT(entry.op_context == &word || entry.op_context == &got);
    }
    EXPECT(got == 'w');
    OK(fi_close(&second->fid));
    EXPECT(fi_close(&domain->fid) == -FI_EBUSY);
    OK(fi_close(&stx->fid));
    close_all();
    printf("ok shared_sends\n");
}

int main(int count, char **words)
{
    deadline = time(NULL) + LIMIT_S;
    if (count == 1) {
        events();
        shared_sends();
    } else if (count == 2)
        serve(words[1]);
    else
        look_for(words[1]);
    return 0;
}

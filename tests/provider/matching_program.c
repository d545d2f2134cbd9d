/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libfabric program that does what chance says and knows what must come of it: three endpoints
 * send to a fourth of the same process, tagged messages and plain ones, short and long. The fourth
 * posts receives, from one of them or from any, for one message or for several, cancels some, and
 * peeks at what waits, claims it or drops it. The model keeps all of it in arrays and looks through
 * them from the beginning. Prints "ok matching"; what is wrong is said with its seed and step, exit
 * 1.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_S     60
#define SEEDS       12
#define STEPS       1500
#define SOURCES     3
#define ANY         SOURCES
#define ENTRIES_MAX 48
#define LONGEST     70000
#define SEVERAL     4096 /* bytes of a buffer for several messages */
#define LEAST       512  /* when less is left of it, it is given back; no plain message is longer */

static int seed, step;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: seed %d, step %d: expected %s\n", __FILE__, __LINE__, seed,    \
                    step, #condition);                                                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *tx, *rx;
static struct fid_ep *ep[SOURCES + 1]; /* the last one receives */
static fi_addr_t address[SOURCES + 2]; /* and any */
static char payload[LONGEST];
static time_t deadline;

/* ---- The model ------------------------------------------------------------------------------ */

struct message {
    bool is_tagged;
    int source;
    uint64_t tag, number; /* the number is its data */
    size_t length;
    int claimed_by; /* index of a receive, or -1 */
};

struct receive {
    struct fi_context context; /* first: what the provider calls it */
    bool is_tagged, is_several;
    int source;
    uint64_t tag, ignore;
    size_t used;
    char *buffer;
};

static struct message waiting[ENTRIES_MAX];
static struct receive receives[ENTRIES_MAX]; /* the storage of all */
static bool is_used[ENTRIES_MAX];
static int posted[ENTRIES_MAX]; /* in their order */
static int waiting_count, posted_count;
static uint64_t sent, heard;

static bool fits(const struct receive *receive, const struct message *message)
{
    if (receive->is_tagged != message->is_tagged || message->claimed_by >= 0 ||
        (receive->source != ANY && receive->source != message->source))
        return false;
    return !receive->is_tagged ||
           (receive->tag | receive->ignore) == (message->tag | receive->ignore);
}

static int find_waiting(const struct receive *receive)
{
    for (int i = 0; i < waiting_count; i++) {
        if (fits(receive, &waiting[i]))
            return i;
    }
    return -1;
}

static int find_posted(const struct message *message)
{
    for (int i = 0; i < posted_count; i++) {
        if (fits(&receives[posted[i]], message))
            return i;
    }
    return -1;
}

static void drop_waiting(int at)
{
    waiting_count--;
    memmove(&waiting[at], &waiting[at + 1], (size_t)(waiting_count - at) * sizeof(waiting[0]));
}

static void drop_posted(int at)
{
    posted_count--;
    memmove(&posted[at], &posted[at + 1], (size_t)(posted_count - at) * sizeof(posted[0]));
}

/* ---- What must be in the queue -------------------------------------------------------------- */

static ssize_t read_next(struct fi_cq_tagged_entry *entry, fi_addr_t *from)
{
    ssize_t result;
    while ((result = fi_cq_readfrom(rx, entry, 1, from)) == -FI_EAGAIN)
        EXPECT(time(NULL) < deadline);
    return result;
}

static struct fi_cq_tagged_entry expect_entry(struct receive *receive,
                                              const struct message *message)
{
    struct fi_cq_tagged_entry entry;
    fi_addr_t from;
    EXPECT(read_next(&entry, &from) == 1);
    EXPECT(entry.op_context == &receive->context && from == address[message->source]);
    EXPECT((entry.flags & FI_REMOTE_CQ_DATA) && entry.data == message->number);
    EXPECT(!message->is_tagged || entry.tag == message->tag);
    return entry;
}

static void expect_error(struct receive *receive, int error)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry failed = {0};
    fi_addr_t from;
    EXPECT(read_next(&entry, &from) == -FI_EAVAIL && fi_cq_readerr(rx, &failed, 0) == 1);
    EXPECT(failed.err == error && failed.op_context == &receive->context);
}

static void expect_nothing(void)
{
    struct fi_cq_tagged_entry entry;
    EXPECT(fi_cq_read(rx, &entry, 1) == -FI_EAGAIN);
    while (fi_cq_read(tx, &entry, 1) == 1)
        heard++;
}

/* The message is in the receive's buffer, and the receive is over unless it takes several. */
static void expect_received(int index, const struct message *message)
{
    struct receive *receive = &receives[index];
    struct fi_cq_tagged_entry entry = expect_entry(receive, message);
    EXPECT(entry.len == message->length);
    EXPECT(memcmp(receive->buffer + receive->used, payload, message->length) == 0);
    EXPECT(!receive->is_several || entry.buf == receive->buffer + receive->used);
    receive->used += message->length;
    bool is_over = !receive->is_several || SEVERAL - receive->used < LEAST;
    EXPECT(!receive->is_several || !(entry.flags & FI_MULTI_RECV) == !is_over);
    is_used[index] = !is_over;
}

/* ---- What chance does ----------------------------------------------------------------------- */

static int chance(int of)
{
    return (int)(random() % of);
}

static int new_receive(bool is_tagged)
{
    int index = 0;
    while (index < ENTRIES_MAX && is_used[index])
        index++;
    if (index == ENTRIES_MAX)
        return -1;
    struct receive *receive = &receives[index];
    is_used[index] = true;
    receive->is_tagged = is_tagged;
    receive->is_several = !is_tagged && chance(3) == 0;
    receive->source = chance(2) ? ANY : chance(SOURCES);
    receive->tag = (uint64_t)chance(4) << 60 | (uint64_t)chance(2);
    receive->ignore = chance(2) ? 0 : chance(2) ? UINT64_MAX : 3ULL << 60;
    receive->used = 0;
    memset(receive->buffer, 0, SEVERAL);
    return index;
}

static void send_one(void)
{
    static const size_t lengths[] = {0, 1, 32, 100, LEAST, 9000, LONGEST};
    if (waiting_count == ENTRIES_MAX)
        return;
    struct message message = {.is_tagged = chance(3) > 0,
                              .source = chance(SOURCES),
                              .tag = (uint64_t)chance(4) << 60 | (uint64_t)chance(2),
                              .number = sent & UINT32_MAX,
                              .claimed_by = -1};
    message.length = lengths[chance(message.is_tagged ? 7 : 5)];
    ssize_t result = message.is_tagged
                         ? fi_tsenddata(ep[message.source], payload, message.length, NULL,
                                        message.number, address[SOURCES], message.tag, NULL)
                         : fi_senddata(ep[message.source], payload, message.length, NULL,
                                       message.number, address[SOURCES], NULL);
    EXPECT(result == 0);
    sent++;
    int at = find_posted(&message);
    if (at < 0) {
        waiting[waiting_count++] = message;
        return;
    }
    int index = posted[at];
    expect_received(index, &message);
    if (!is_used[index])
        drop_posted(at);
}

static void call(struct receive *receive, uint64_t flags)
{
    struct iovec iov = {receive->buffer, receive->is_several ? SEVERAL : LONGEST};
    struct fi_msg_tagged tagged = {.msg_iov = &iov,
                                   .iov_count = 1,
                                   .addr = receive->source == ANY ? FI_ADDR_UNSPEC
                                                                  : address[receive->source],
                                   .tag = receive->tag,
                                   .ignore = receive->ignore,
                                   .context = &receive->context};
    struct fi_msg plain = {
        .msg_iov = &iov, .iov_count = 1, .addr = tagged.addr, .context = &receive->context};
    EXPECT((receive->is_tagged ? fi_trecvmsg(ep[SOURCES], &tagged, flags)
                               : fi_recvmsg(ep[SOURCES], &plain, flags)) == 0);
}

static void post_one(void)
{
    int index = new_receive(chance(3) > 0), at;
    if (index < 0)
        return;
    struct receive *receive = &receives[index];
    call(receive, receive->is_several ? FI_MULTI_RECV : 0);
    while (is_used[index] && (at = find_waiting(receive)) >= 0) {
        expect_received(index, &waiting[at]);
        drop_waiting(at);
        if (!receive->is_several)
            return;
    }
    if (is_used[index])
        posted[posted_count++] = index;
}

static void cancel_one(void)
{
    if (posted_count == 0)
        return;
    int at = chance(posted_count), index = posted[at];
    EXPECT(fi_cancel(&ep[SOURCES]->fid, &receives[index].context) == 0);
    expect_error(&receives[index], FI_ECANCELED);
    is_used[index] = false;
    drop_posted(at);
}

static void peek_one(void)
{
    static const uint64_t ways[] = {FI_PEEK, FI_PEEK | FI_CLAIM, FI_PEEK | FI_DISCARD};
    int index = new_receive(true);
    if (index < 0)
        return;
    uint64_t flags = ways[chance(3)];
    int at = find_waiting(&receives[index]);
    call(&receives[index], flags);
    is_used[index] = at >= 0 && (flags & FI_CLAIM);
    if (at < 0) {
        expect_error(&receives[index], FI_ENOMSG);
        return;
    }
    EXPECT(expect_entry(&receives[index], &waiting[at]).len == waiting[at].length);
    if (flags & FI_CLAIM)
        waiting[at].claimed_by = index;
    else if (flags & FI_DISCARD)
        drop_waiting(at);
}

static void take_claimed(void)
{
    for (int at = 0; at < waiting_count; at++) {
        int index = waiting[at].claimed_by;
        if (index < 0 || chance(2))
            continue;
        bool is_dropped = chance(2);
        call(&receives[index], is_dropped ? FI_CLAIM | FI_DISCARD : FI_CLAIM);
        if (is_dropped)
            expect_entry(&receives[index], &waiting[at]);
        else
            expect_received(index, &waiting[at]);
        is_used[index] = false;
        drop_waiting(at);
        return;
    }
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void open_all(void)
{
    struct fi_info *hints = fi_allocinfo();
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
    size_t least = LEAST;
    hints->caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE | FI_MULTI_RECV;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("rhinet");
    EXPECT(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) == 0);
    fi_freeinfo(hints);
    EXPECT(fi_fabric(info->fabric_attr, &fabric, NULL) == 0);
    EXPECT(fi_domain(fabric, info, &domain, NULL) == 0);
    EXPECT(fi_av_open(domain, &av_attr, &av, NULL) == 0);
    EXPECT(fi_cq_open(domain, &cq_attr, &tx, NULL) == 0);
    EXPECT(fi_cq_open(domain, &cq_attr, &rx, NULL) == 0);
    for (int i = 0; i <= SOURCES; i++) {
        char name[256];
        size_t length = sizeof(name);
        EXPECT(fi_endpoint(domain, info, &ep[i], NULL) == 0);
        EXPECT(fi_ep_bind(ep[i], &av->fid, 0) == 0);
        EXPECT(fi_ep_bind(ep[i], &tx->fid, FI_TRANSMIT) == 0);
        EXPECT(fi_ep_bind(ep[i], &rx->fid, FI_RECV) == 0);
        EXPECT(fi_enable(ep[i]) == 0);
        EXPECT(fi_getname(&ep[i]->fid, name, &length) == 0);
        EXPECT(fi_av_insert(av, name, 1, &address[i], 0, NULL) == 1);
    }
    EXPECT(fi_setopt(&ep[SOURCES]->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
                     sizeof(least)) == 0);
}

/* What was claimed and not taken goes with its endpoint. */
static void close_all(void)
{
    for (int i = 0; i <= SOURCES; i++)
        EXPECT(fi_close(&ep[i]->fid) == 0);
    EXPECT(fi_close(&rx->fid) == 0 && fi_close(&tx->fid) == 0 && fi_close(&av->fid) == 0);
    EXPECT(fi_close(&domain->fid) == 0 && fi_close(&fabric->fid) == 0);
    fi_freeinfo(info);
}

static void random_program(void)
{
    waiting_count = posted_count = 0;
    sent = heard = 0;
    memset(is_used, 0, sizeof(is_used));
    srandom((unsigned)seed);
    for (step = 0; step < STEPS; step++) {
        static void (*const acts[])(void) = {send_one, send_one,   send_one, post_one,    post_one,
                                             post_one, cancel_one, peek_one, take_claimed};
        acts[chance(sizeof(acts) / sizeof(acts[0]))]();
        expect_nothing();
    }
    EXPECT(heard <= sent && heard + (uint64_t)waiting_count >= sent);
}

int main(void)
{
    deadline = time(NULL) + LIMIT_S;
    for (size_t i = 0; i < LONGEST; i++)
        payload[i] = (char)(i * 7 + (i >> 9) + 1);
    for (int i = 0; i < ENTRIES_MAX; i++)
        receives[i].buffer = malloc(LONGEST);
    for (seed = 1; seed <= SEEDS; seed++) {
        open_all();
        random_program();
        close_all();
    }
    for (int i = 0; i < ENTRIES_MAX; i++)
        free(receives[i].buffer);
    puts("ok matching");
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libfabric program that checks the provider: `rhinet run -n 2 fabric_program FOLDER`, or one
 * process alone, which then talks to itself. It knows nothing of rhinet; addresses are exchanged
 * through files in FOLDER. `fabric_program FOLDER gone` is one of two that lose each other. Prints
 * "ok CASE"; what is wrong is said, exit 1.
 *
 * Longer than most files: one user's program, case by case.
 */
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 60
#define LONGEST (1 << 20)
#define KEY     0xc0de

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: expected %s\n", __FILE__, __LINE__, me, #condition);  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        long long code = (call);                                                                   \
        if (code != 0) {                                                                           \
            fprintf(stderr, "%s:%d: rank %d: %s: %lld %s\n", __FILE__, __LINE__, me, #call, code,  \
                    fi_strerror((int)-code));                                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int me, peer; /* 0 and 1, or both 0 */
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *tx, *rx;
static struct fid_ep *ep;
static struct fid_cntr *counter, *remote_counter;
static struct fid_mr *mr;
static fi_addr_t to;
static char *memory, *out, *in;
static const size_t lengths[] = {0,   1,    8,    24,   25,   32,   33,    48,
                                 100, 2024, 2025, 8000, 8192, 9000, 70000, LONGEST};
#define LENGTH_COUNT (sizeof(lengths) / sizeof(lengths[0]))

/* ---- Waiting -------------------------------------------------------------------------------- */

static time_t deadline;

static void hurry(void)
{
    EXPECT(time(NULL) < deadline);
}

/* Progress on both queues is made by looking at either. */
static struct fi_cq_tagged_entry next(struct fid_cq *cq)
{
    struct fi_cq_tagged_entry entry;
    ssize_t result;
    while ((result = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        hurry();
    if (result == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {0};
        fi_cq_readerr(cq, &error, 0);
        fprintf(stderr, "rank %d: completion with error: %s\n", me, fi_strerror(error.err));
    }
    EXPECT(result == 1);
    return entry;
}

static struct fi_cq_err_entry next_error(struct fid_cq *cq)
{
    struct fi_cq_tagged_entry entry;
    struct fi_cq_err_entry error = {0};
    ssize_t result;
    while ((result = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
        hurry();
    EXPECT(result == -FI_EAVAIL);
    EXPECT(fi_cq_readerr(cq, &error, 0) == 1);
    return error;
}

static void fill(size_t length, int seed)
{
    for (size_t i = 0; i < length; i++)
        out[i] = (char)((size_t)seed * 31 + i * 7 + (i >> 9));
    memset(in, 0, length);
}

static bool is_filled(const char *buffer, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++) {
        if (buffer[i] != (char)((size_t)seed * 31 + i * 7 + (i >> 9)))
            return false;
    }
    return true;
}

/* Both are here. */
static void meet(void)
{
    char a = 1, b = 0;
    OK(fi_trecv(ep, &b, 1, NULL, FI_ADDR_UNSPEC, 1ULL << 62, 0, NULL));
    ssize_t result;
    while ((result = fi_tinject(ep, &a, 1, to, 1ULL << 62)) == -FI_EAGAIN)
        hurry();
    OK(result);
    next(rx);
    EXPECT(b == 1);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void receive_and_check(size_t length, uint64_t tag, bool has_data, int seed)
{
    fi_addr_t from;
    struct fi_cq_tagged_entry entry;
    ssize_t result;
    while ((result = fi_cq_readfrom(rx, &entry, 1, &from)) == -FI_EAGAIN)
        hurry();
    EXPECT(result == 1 && from == to);
    EXPECT(entry.len == length && entry.tag == tag && entry.op_context == in);
    EXPECT((entry.flags & (FI_RECV | FI_TAGGED)) == (FI_RECV | FI_TAGGED));
    EXPECT(!!(entry.flags & FI_REMOTE_CQ_DATA) == has_data);
    EXPECT(!has_data || entry.data == 0xabcd1234);
    EXPECT(is_filled(in, length, seed));
}

static void tagged(void)
{
    for (size_t i = 0; i < LENGTH_COUNT; i++) {
        size_t length = lengths[i], half = length / 3;
        struct iovec iov[2] = {{out, half}, {out + half, length - half}};
        struct iovec into[2] = {{in, length - half}, {in + length - half, half}};
        uint64_t tag = 0xff00 + i;
        for (int kind = 0; kind < 5; kind++) {
            bool is_late = (i + (size_t)kind) % 2;
            fill(length, kind);
            if (is_late) /* so that some are unexpected */
                meet();
            else
                OK(fi_trecv(ep, in, length, NULL, to, tag, 0, in));
            if (!is_late)
                meet();
            bool injects = kind == 2 && length <= info->tx_attr->inject_size;
            if (kind == 0)
                OK(fi_tsend(ep, out, length, NULL, to, tag, out));
            else if (kind == 1)
                OK(fi_tsendv(ep, iov, NULL, 2, to, tag, out));
            else if (injects)
                OK(fi_tinjectdata(ep, out, length, 0xabcd1234, to, tag));
            else
                OK(fi_tsenddata(ep, out, length, NULL, 0xabcd1234, to, tag, out));
            if (injects)
                memset(out, 0, length); /* it is ours again */
            if (is_late)
                OK(fi_trecvv(ep, into, NULL, 2, FI_ADDR_UNSPEC, tag & ~0xffULL, 0xff, in));
            if (!injects)
                EXPECT(next(tx).op_context == out);
            receive_and_check(length, tag, kind >= 2, kind);
        }
    }
    char byte;
    EXPECT(fi_tinject(ep, out, info->tx_attr->inject_size + 1, to, 1) == -FI_EMSGSIZE);
    EXPECT(fi_tsend(ep, out, 1, NULL, 12345, 1, NULL) == -FI_EINVAL);
    EXPECT(fi_cq_read(rx, &byte, 1) == -FI_EAGAIN);
}

static void peeks(void)
{
    struct fi_context context;
    for (size_t i = 0; i < LENGTH_COUNT; i++) {
        size_t length = lengths[i];
        struct iovec iov = {in, length};
        struct fi_msg_tagged message = {
            .msg_iov = &iov, .iov_count = 1, .addr = to, .tag = 77, .context = &context};
        OK(fi_trecvmsg(ep, &message, FI_PEEK));
        struct fi_cq_err_entry error = next_error(rx);
        EXPECT(error.err == FI_ENOMSG && error.op_context == &context);
        meet();
        fill(length, 3);
        for (int k = 0; k < 4; k++)
            OK(fi_tsend(ep, out, length, NULL, to, (uint64_t)(77 + k), out));
        meet(); /* all have come, since messages come in order */
        OK(fi_trecvmsg(ep, &message, FI_PEEK));
        struct fi_cq_tagged_entry entry = next(rx);
        EXPECT(entry.len == length && entry.tag == 77);
        OK(fi_trecvmsg(ep, &message, FI_PEEK | FI_CLAIM));
        EXPECT(next(rx).len == length);
        OK(fi_trecvmsg(ep, &message, FI_PEEK)); /* it is nobody else's now */
        EXPECT(next_error(rx).err == FI_ENOMSG);
        OK(fi_trecvmsg(ep, &message, FI_CLAIM));
        EXPECT(next(rx).len == length && is_filled(in, length, 3));
        message.tag = 78;
        OK(fi_trecvmsg(ep, &message, FI_PEEK | FI_DISCARD));
        EXPECT(next(rx).len == length);
        message.tag = 79;
        OK(fi_trecvmsg(ep, &message, FI_PEEK | FI_CLAIM));
        next(rx);
        OK(fi_trecvmsg(ep, &message, FI_CLAIM | FI_DISCARD));
        next(rx);
        OK(fi_trecv(ep, in, length, NULL, to, 80, 0, in));
        EXPECT(next(rx).len == length);
        for (int k = 0; k < 4; k++)
            next(tx);
        meet();
    }
}

static void cancels_and_cuts(void)
{
    OK(fi_trecv(ep, in, 8, NULL, to, 5, 0, in));
    OK(fi_cancel(&ep->fid, in));
    struct fi_cq_err_entry error = next_error(rx);
    EXPECT(error.err == FI_ECANCELED && error.op_context == in);
    EXPECT(fi_cancel(&ep->fid, in) == -FI_ENOENT);
    for (size_t length = 16; length < 100000; length *= 10) {
        meet();
        OK(fi_trecv(ep, in, 10, NULL, to, 6, 0, in));
        OK(fi_tsend(ep, out, length, NULL, to, 6, out));
        error = next_error(rx);
        EXPECT(error.err == FI_ETRUNC && error.len == 10 && error.olen == length - 10);
        next(tx);
        struct iovec into[2] = {{in, 4}, {in + 100, 6}};
        meet();
        fill(length, 8);
        OK(fi_trecvv(ep, into, NULL, 2, to, 6, 0, in));
        OK(fi_tsend(ep, out, length, NULL, to, 6, out));
        error = next_error(rx);
        EXPECT(error.err == FI_ETRUNC && error.len == 10 && error.buf == in);
        EXPECT(is_filled(in, 4, 8) && memcmp(in + 100, out + 4, 6) == 0);
        EXPECT(next(tx).op_context == out);
    }
}

/* Flags that an endpoint has for all its receives mean nothing to those they do not fit. */
static void flags_of_receives(void)
{
    uint64_t flags = FI_RECV | FI_MULTI_RECV;
    struct iovec iov[2] = {{in, 4}, {in + 100, 6}};
    OK(fi_control(&ep->fid, FI_SETOPSFLAG, &flags));
    EXPECT(fi_recvv(ep, iov, NULL, 2, to, in) == -FI_EINVAL);
    for (int i = 0; i < 3; i++)
        meet();
    flags = FI_RECV;
    OK(fi_control(&ep->fid, FI_SETOPSFLAG, &flags));
    OK(fi_trecv(ep, in, 1, NULL, to, 3, 0, in));
    OK(fi_tinject(ep, out, 1, to, 3));
    ssize_t count;
    while ((count = fi_cq_read(rx, NULL, 0)) == -FI_EAGAIN)
        hurry();
    EXPECT(count == 0 && next(rx).op_context == in);
}

static void several_in_one_buffer(void)
{
    size_t least = 200, room = 100000, done = 0;
    struct iovec iov = {memory, room};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = memory};
    OK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
    fill(50000, 9);
    meet();
    OK(fi_send(ep, out, 100, NULL, to, out)); /* one may be there already */
    OK(fi_recvmsg(ep, &message, FI_MULTI_RECV));
    next(tx);
    static const size_t parts[] = {100, 8, 50000, 20000, 29000, 800};
    for (int i = 1; i < 6; i++)
        OK(fi_senddata(ep, out, parts[i], NULL, (uint64_t)i, to, out));
    bool is_over = false;
    for (int i = 0; i < 6; i++) {
        struct fi_cq_tagged_entry entry = next(rx);
        EXPECT(entry.op_context == memory && (entry.flags & FI_MSG) && !is_over);
        EXPECT(is_filled(entry.buf, entry.len, 9));
        done += entry.len;
        is_over = entry.flags & FI_MULTI_RECV;
    }
    EXPECT(done == 99908 && is_over);
    for (int i = 1; i < 6; i++)
        next(tx);
}

/* A buffer is its program's again when the last message into it is there. */
static void cancels_several(void)
{
    enum { LENGTH = 500000 };
    struct iovec iov = {memory, LONGEST};
    struct fi_msg message = {
        .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = memory};
    fill(LENGTH, 4);
    OK(fi_recvmsg(ep, &message, FI_MULTI_RECV));
    meet();
    OK(fi_send(ep, out, LENGTH, NULL, to, out));
    char a = 1, b = 0; /* like meet(), but what has come is looked at in its order */
    OK(fi_tinject(ep, &a, 1, to, 15));
    struct iovec into = {&b, 1};
    struct fi_msg_tagged mark = {.msg_iov = &into, .iov_count = 1, .addr = to, .tag = 15};
    OK(fi_trecvmsg(ep, &mark, 0));
    struct fi_cq_tagged_entry first = next(rx);
    OK(fi_cancel(&ep->fid, memory));
    struct fi_cq_tagged_entry second = next(rx);
    const struct fi_cq_tagged_entry *whole = first.op_context == memory ? &first : &second;
    EXPECT(b == 1 && whole->op_context == memory && whole->len == LENGTH);
    EXPECT(is_filled(memory, LENGTH, 4));
    EXPECT(next_error(rx).err == FI_ECANCELED);
    EXPECT(next(tx).op_context == out);
    meet();
}

/* ---- Memory --------------------------------------------------------------------------------- */

static void rma(void)
{
    uint64_t base = 0;
    for (size_t i = 0; i < LENGTH_COUNT; i++) {
        size_t length = lengths[i];
        fill(length, me + 1);
        memset(memory, 0, LONGEST);
        meet();
        OK(fi_write(ep, out, length, NULL, to, base, KEY, out));
        struct fi_cq_tagged_entry entry = next(tx);
        EXPECT(entry.op_context == out &&
               (entry.flags & (FI_RMA | FI_WRITE)) == (FI_RMA | FI_WRITE));
        meet(); /* a completion says that it is there */
        EXPECT(is_filled(memory, length, peer + 1));
        struct iovec iov[2] = {{in, length / 2}, {in + length / 2, length - length / 2}};
        OK(fi_readv(ep, iov, NULL, 2, to, base, KEY, in));
        EXPECT(next(tx).op_context == in);
        EXPECT(is_filled(in, length, me + 1));
        meet();
        bool injects = length <= info->tx_attr->inject_size;
        fill(length, me + 5);
        if (injects)
            OK(fi_inject_writedata(ep, out, length, 42, to, base, KEY));
        else
            OK(fi_writedata(ep, out, length, NULL, 42, to, base, KEY, out));
        if (!injects)
            next(tx);
        entry = next(rx);
        EXPECT(entry.data == 42 && entry.len == length);
        EXPECT((entry.flags & FI_REMOTE_CQ_DATA) && (entry.flags & FI_REMOTE_WRITE));
        EXPECT(is_filled(memory, length, peer + 5));
        meet();
    }
    for (size_t length = 8; length <= 80000; length *= 100) {
        OK(fi_write(ep, out, length, NULL, to, base, KEY + 1, out));
        EXPECT(next_error(tx).err == FI_EACCES);
        OK(fi_read(ep, out, length, NULL, to, LONGEST - length + 1, KEY, out));
        EXPECT(next_error(tx).err == FI_EACCES);
    }
    meet();
}

/* More than anybody has places for. */
static void many_at_once(void)
{
    enum { COUNT = 1000, EACH = 1000 };
    fill(EACH * COUNT, 2);
    memset(memory, 0, LONGEST);
    meet();
    int begun = 0, done = 0;
    struct fi_cq_tagged_entry entry[16];
    while (done < COUNT) {
        uint64_t at = (uint64_t)begun * EACH;
        ssize_t result = begun < COUNT ? fi_write(ep, out + at, EACH, NULL, to, at, KEY, NULL)
                                       : -FI_EAGAIN;
        EXPECT(result == 0 || result == -FI_EAGAIN);
        begun += result == 0;
        ssize_t count = result == 0 ? 0 : fi_cq_read(tx, entry, 16);
        EXPECT(count >= 0 || count == -FI_EAGAIN);
        done += count > 0 ? (int)count : 0;
        hurry();
    }
    meet();
    EXPECT(is_filled(memory, EACH * COUNT, 2));
}

static void atomics(void)
{
    static const struct {
        enum fi_op operation;
        int64_t before, operand, comparand, after;
    } table[] = {
        {FI_MIN, 5, 3, 0, 3},      {FI_MAX, 5, 3, 0, 5},         {FI_SUM, 5, 3, 0, 8},
        {FI_PROD, 5, 3, 0, 15},    {FI_LOR, 0, 3, 0, 1},         {FI_LAND, 5, 0, 0, 0},
        {FI_BOR, 5, 3, 0, 7},      {FI_BAND, 5, 3, 0, 1},        {FI_LXOR, 5, 3, 0, 0},
        {FI_BXOR, 5, 3, 0, 6},     {FI_ATOMIC_READ, 5, 3, 0, 5}, {FI_ATOMIC_WRITE, 5, 3, 0, 3},
        {FI_CSWAP, 5, 3, 5, 3},    {FI_CSWAP, 5, 3, 4, 5},       {FI_CSWAP_NE, 5, 3, 4, 3},
        {FI_CSWAP_LE, 5, 3, 5, 3}, {FI_CSWAP_LT, 5, 3, 5, 5},    {FI_CSWAP_GE, 5, 3, 4, 5},
        {FI_CSWAP_GT, 5, 3, 6, 3}, {FI_MSWAP, 5, 3, 1, 5},       {FI_MSWAP, 4, 3, 2, 6},
    };
    static const enum fi_datatype types[] = {FI_INT8,   FI_UINT8, FI_INT16,  FI_UINT16, FI_INT32,
                                             FI_UINT32, FI_INT64, FI_UINT64, FI_FLOAT,  FI_DOUBLE};
#define AS(type, target, value)                                                                    \
    do {                                                                                           \
        type converted = (type)(value);                                                            \
        memcpy(target, &converted, sizeof(converted));                                             \
    } while (0)
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
            char value[4][8] = {{0}}, found[8] = {0};
            const int64_t numbers[4] = {table[i].before, table[i].operand, table[i].comparand,
                                        table[i].after};
            bool compares = table[i].operation >= FI_CSWAP;
            size_t size = types[t] == FI_FLOAT    ? 4
                          : types[t] == FI_DOUBLE ? 8
                                                  : (size_t)1 << types[t] / 2;
            for (int k = 0; k < 4; k++) {
                if (types[t] == FI_FLOAT)
                    AS(float, value[k], numbers[k]);
                else if (types[t] == FI_DOUBLE)
                    AS(double, value[k], numbers[k]);
                else
                    AS(int64_t, value[k], numbers[k]); /* little-endian */
            }
            struct fi_atomic_attr attr;
            int is_there = fi_query_atomic(domain, types[t], table[i].operation, &attr,
                                           compares ? FI_COMPARE_ATOMIC : FI_FETCH_ATOMIC);
            bool is_bitwise = table[i].operation == FI_BOR || table[i].operation == FI_BAND ||
                              table[i].operation == FI_BXOR || table[i].operation == FI_MSWAP;
            EXPECT((is_there == 0) == !(is_bitwise && types[t] >= FI_FLOAT));
            if (is_there != 0)
                continue;
            EXPECT(attr.size == size && attr.count >= 100);
            memcpy(memory, value[0], size);
            meet();
            if (compares)
                OK(fi_compare_atomic(ep, value[1], 1, NULL, value[2], NULL, found, NULL, to, 0, KEY,
                                     types[t], table[i].operation, found));
            else
                OK(fi_fetch_atomic(ep, value[1], 1, NULL, found, NULL, to, 0, KEY, types[t],
                                   table[i].operation, found));
            struct fi_cq_tagged_entry entry = next(tx);
            EXPECT(entry.op_context == found && (entry.flags & FI_ATOMIC));
            EXPECT(memcmp(found, value[0], size) == 0);
            meet();
            EXPECT(memcmp(memory, value[3], size) == 0);
        }
    }
}

static void atomics_without_result(void)
{
    int64_t one = 1;
    memset(memory, 0, 8);
    meet();
    for (int i = 0; i < 100; i++)
        OK(fi_inject_atomic(ep, &one, 1, to, 0, KEY, FI_INT64, FI_SUM));
    OK(fi_atomic(ep, &one, 1, NULL, to, 0, KEY, FI_INT64, FI_SUM, &one));
    EXPECT(next(tx).op_context == &one);
    meet();
    EXPECT(*(int64_t *)memory == 101);
    OK(fi_atomic(ep, &one, 1, NULL, to, 0, KEY + 7, FI_INT64, FI_SUM, &one));
    EXPECT(next_error(tx).err == FI_EACCES);
    EXPECT(fi_atomic(ep, &one, 1, NULL, to, 0, KEY, FI_DOUBLE, FI_BOR, &one) == -FI_EOPNOTSUPP);
}

/* ---- Waiting and counting ------------------------------------------------------------------- */

static void waits(void)
{
    struct fi_cq_tagged_entry entry;
    int fd;
    EXPECT(fi_cq_sread(rx, &entry, 1, NULL, 1) == -FI_EAGAIN);
    OK(fi_control(&rx->fid, FI_GETWAIT, &fd));
    for (int i = 0; i < 20; i++) {
        struct fid *fids[] = {&rx->fid};
        OK(fi_trecv(ep, in, 8, NULL, to, 9, 0, in));
        /* To ourselves nobody can send while we sleep. */
        if (me == peer)
            OK(fi_tinject(ep, out, 8, to, 9));
        else if (me == 1 && i % 2)
            usleep(2000);
        if (me == 1 && peer == 0)
            OK(fi_tinject(ep, out, 8, to, 9));
        int result = fi_trywait(fabric, fids, 1);
        if (result == 0) {
            struct pollfd waiting = {.fd = fd, .events = POLLIN};
            EXPECT(poll(&waiting, 1, LIMIT_S * 1000) == 1);
        } else {
            EXPECT(result == -FI_EAGAIN);
        }
        if (me == 0 && peer == 1)
            OK(fi_tinject(ep, out, 8, to, 9));
        EXPECT(fi_cq_sread(rx, &entry, 1, NULL, LIMIT_S * 1000) == 1 && entry.op_context == in);
    }
    meet();
}

/* That one queue has something does not end the wait for the other. */
static void waits_for_one_of_two(void)
{
    int fd;
    OK(fi_control(&rx->fid, FI_GETWAIT, &fd));
    meet();
    if (me == 1) {
        OK(fi_trecv(ep, in, 8, NULL, to, 14, 0, in));
        next(rx);
        usleep(2000);
        OK(fi_tinject(ep, out, 8, to, 13));
    } else if (peer == 1) {
        struct fid *fids[] = {&rx->fid, &tx->fid};
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        OK(fi_trecv(ep, in, 8, NULL, to, 13, 0, in));
        OK(fi_trywait(fabric, fids, 2));
        OK(fi_tsend(ep, out, 8, NULL, to, 14, out));
        EXPECT(poll(&waiting, 1, LIMIT_S * 1000) == 1);
        next(rx);
        next(tx);
    }
    meet();
}

static void counts(void)
{
    uint64_t before = fi_cntr_read(counter), remote = fi_cntr_read(remote_counter);
    meet();
    uint64_t sent = fi_cntr_read(counter) - before;
    EXPECT(sent == 1 && fi_cntr_readerr(counter) == 0);
    for (int i = 0; i < 10; i++)
        OK(fi_inject_write(ep, out, 8, to, 0, KEY));
    OK(fi_cntr_wait(remote_counter, remote + 10, LIMIT_S * 1000));
    EXPECT(fi_cntr_read(remote_counter) == remote + 10);
    OK(fi_cntr_set(remote_counter, 5));
    OK(fi_cntr_add(remote_counter, 2));
    EXPECT(fi_cntr_read(remote_counter) == 7);
    EXPECT(fi_cntr_wait(remote_counter, 8, 10) == -FI_ETIMEDOUT);
    meet();
    struct fid_poll *set;
    struct fi_poll_attr attr = {0};
    void *found[4];
    OK(fi_poll_open(domain, &attr, &set));
    OK(fi_poll_add(set, &rx->fid, 0));
    EXPECT(fi_poll(set, found, 4) == 0);
    char a = 1, b;
    OK(fi_trecv(ep, &b, 1, NULL, to, 4, 0, NULL));
    OK(fi_tinject(ep, &a, 1, to, 4));
    while (fi_poll(set, found, 4) == 0)
        hurry();
    EXPECT(found[0] == &rx);
    next(rx);
    OK(fi_poll_del(set, &rx->fid, 0));
    OK(fi_close(&set->fid));
    meet();
}

/* A send that completes by delivery does so when its receive has been posted, not before. */
static void delivered(void)
{
    static const size_t some[] = {8, 3000, 100000};
    for (int i = 0; i < 3; i++) {
        struct iovec iov = {out, some[i]};
        struct fi_msg_tagged message = {
            .msg_iov = &iov, .iov_count = 1, .addr = to, .tag = 11, .context = out};
        struct fi_cq_tagged_entry entry;
        meet();
        OK(fi_tsendmsg(ep, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION));
        meet(); /* who has our message after it has had the other; nobody has asked for that */
        EXPECT(fi_cq_read(tx, &entry, 1) == -FI_EAGAIN);
        meet();
        OK(fi_trecv(ep, in, some[i], NULL, to, 11, 0, in));
        EXPECT(next(rx).op_context == in);
        EXPECT(next(tx).op_context == out);
    }
}

/* Who asks whether it has arrived hears that nobody is there any more. */
static void closed_ports(void)
{
    static const size_t some[] = {8, 3000, 100000};
    struct fid_ep *other;
    struct fi_context context;
    char name[64], peers[64];
    size_t length = sizeof(name);
    fi_addr_t there;
    OK(fi_endpoint(domain, info, &other, NULL));
    OK(fi_ep_bind(other, &av->fid, 0));
    OK(fi_ep_bind(other, &tx->fid, FI_TRANSMIT));
    OK(fi_ep_bind(other, &rx->fid, FI_RECV));
    OK(fi_enable(other));
    OK(fi_getname(&other->fid, name, &length));
    OK(fi_trecv(ep, peers, length, NULL, to, 16, 0, in));
    OK(fi_tinject(ep, name, length, to, 16));
    next(rx);
    EXPECT(fi_av_insert(av, peers, 1, &there, 0, NULL) == 1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            struct iovec iov = {out, some[i]};
            struct fi_msg_tagged message = {
                .msg_iov = &iov, .iov_count = 1, .addr = there, .tag = 12, .context = out};
            OK(fi_tsendmsg(ep, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION));
        }
        meet();
        if (round == 0) {
            struct iovec into = {in, LONGEST};
            struct fi_msg_tagged message = {.msg_iov = &into,
                                            .iov_count = 1,
                                            .addr = FI_ADDR_UNSPEC,
                                            .tag = 12,
                                            .context = &context};
            OK(fi_trecvmsg(other, &message, FI_PEEK | FI_CLAIM));
            EXPECT(next(rx).len == 8);
            OK(fi_close(&other->fid));
        }
        for (int i = 0; i < 3; i++)
            EXPECT(next_error(tx).err == FI_ECONNREFUSED);
        meet();
    }
    int64_t one = 1;
    for (size_t size = 8; size <= 80000; size *= 100) {
        OK(fi_write(ep, out, size, NULL, there, 0, KEY, out));
        EXPECT(next_error(tx).op_context == out);
        OK(fi_read(ep, in, size, NULL, there, 0, KEY, in));
        EXPECT(next_error(tx).op_context == in);
    }
    OK(fi_fetch_atomic(ep, &one, 1, NULL, in, NULL, there, 0, KEY, FI_INT64, FI_SUM, in));
    EXPECT(next_error(tx).op_context == in);
    OK(fi_av_remove(av, &there, 1, 0));
    meet();
}

/* What is not there says so. */
static void calls_that_are_not_there(void)
{
    struct fid_ep *none;
    EXPECT(fi_connect(ep, out, NULL, 0) == -FI_ENOSYS);
    EXPECT(fi_accept(ep, NULL, 0) == -FI_ENOSYS);
    EXPECT(fi_shutdown(ep, 0) == -FI_ENOSYS);
    EXPECT(fi_tx_context(ep, 0, NULL, &none, NULL) == -FI_ENOSYS);
    EXPECT(fi_rx_context(ep, 0, NULL, &none, NULL) == -FI_ENOSYS);
    EXPECT(fi_barrier(ep, to, NULL) == -FI_ENOSYS);
    EXPECT(fi_allreduce(ep, out, 1, NULL, in, NULL, to, FI_INT64, FI_SUM, 0, NULL) == -FI_ENOSYS);
}

/* Who sends more than anybody has asked for is held back at some time, and nothing is lost. The
 * limit is FI_RHINET_UNEXPECTED_SIZE, and what was under way comes beside it; RMA is not held.
 * Where all messages are long, others wait behind the first thousand: docs/mpi.md. */
static void held_back(void)
{
    enum { LENGTH = 1000, LIMIT = 1 << 20, MORE = 200000 };
    uint64_t *count = (uint64_t *)memory, sent = 0;
    struct fi_cq_tagged_entry none;
    ssize_t result;
    if (getenv("RHINET_MSG_WAY"))
        return;
    *count = 0;
    meet();
    if (me == 0) {
        while ((result = fi_tinject(ep, out, LENGTH, to, sent)) == 0) {
            sent++;
            EXPECT(sent < MORE && fi_cq_read(tx, &none, 1) == -FI_EAGAIN);
        }
        EXPECT(result == -FI_EAGAIN && sent * LENGTH > LIMIT / 2);
        while ((result = fi_write(ep, &sent, sizeof(sent), NULL, to, 0, KEY, NULL)) == -FI_EAGAIN)
            EXPECT(fi_cq_read(tx, &none, 1) == -FI_EAGAIN);
        OK(result);
        next(tx);
    }
    bool receives = me == peer || me == 1;
    while (receives && *(volatile uint64_t *)count == 0) {
        hurry();
        EXPECT(fi_cq_read(rx, &none, 1) == -FI_EAGAIN);
    }
    for (uint64_t i = 0; receives && i < *count; i++) {
        OK(fi_trecv(ep, in, LENGTH, NULL, to, i, 0, NULL));
        EXPECT(next(rx).len == LENGTH);
    }
    meet(); /* which could not be sent while it was held */
}

/* Not a case of all: the other is killed, and whoever waits for it hears. */
static int gone(void)
{
    OK(fi_trecv(ep, in, 8, NULL, to, 17, 0, in));
    meet();
    if (me == 1)
        raise(SIGKILL);
    struct fi_cq_err_entry error = next_error(rx);
    EXPECT(error.err == FI_ECONNRESET && error.op_context == in);
    printf("ok gone\n");
    return 0;
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static void open_all(void)
{
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_SOURCE |
                  FI_DIRECTED_RECV | FI_RMA_EVENT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup("rhinet");
    OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
    struct fi_info *none;
    hints->ep_attr->type = FI_EP_MSG;
    EXPECT(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
    hints->ep_attr->type = FI_EP_RDM;
    hints->ep_attr->max_msg_size = SIZE_MAX;
    EXPECT(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
    hints->ep_attr->max_msg_size = LONGEST;
    hints->rx_attr->comp_order = FI_ORDER_STRICT;
    EXPECT(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
    fi_freeinfo(hints);
    OK(fi_fabric(info->fabric_attr, &fabric, NULL));
    OK(fi_domain(fabric, info, &domain, NULL));
    struct fi_av_attr av_attr = {.type = FI_AV_MAP};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD};
    struct fi_cntr_attr cntr_attr = {.wait_obj = FI_WAIT_UNSPEC};
    OK(fi_av_open(domain, &av_attr, &av, NULL));
    OK(fi_cq_open(domain, &cq_attr, &tx, &tx));
    OK(fi_cq_open(domain, &cq_attr, &rx, &rx));
    OK(fi_cntr_open(domain, &cntr_attr, &counter, NULL));
    OK(fi_cntr_open(domain, &cntr_attr, &remote_counter, NULL));
    OK(fi_endpoint(domain, info, &ep, NULL));
    EXPECT(fi_enable(ep) == -FI_ENOAV);
    OK(fi_ep_bind(ep, &av->fid, 0));
    OK(fi_ep_bind(ep, &tx->fid, FI_TRANSMIT));
    OK(fi_ep_bind(ep, &rx->fid, FI_RECV));
    OK(fi_ep_bind(ep, &counter->fid, FI_SEND));
    OK(fi_ep_bind(ep, &remote_counter->fid, FI_REMOTE_WRITE));
    OK(fi_enable(ep));
    OK(fi_mr_reg(domain, memory, LONGEST, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
    EXPECT(fi_mr_key(mr) == KEY);
    struct fid_mr *twice;
    EXPECT(fi_mr_reg(domain, memory, 8, FI_REMOTE_READ, 0, KEY, 0, &twice, NULL) == -FI_ENOKEY);
}

/* Names of files are told by who came first. */
static void find_peer(const char *folder)
{
    char name[256], path[512], part[520];
    size_t length = sizeof(name);
    OK(fi_getname(&ep->fid, name, &length));
    for (me = 0; me < 2; me++) { /* take a number */
        snprintf(path, sizeof(path), "%s/taken%d", folder, me);
        FILE *file = fopen(path, "wx");
        if (!file)
            continue;
        fclose(file);
        break;
    }
    snprintf(path, sizeof(path), "%s/%d", folder, me);
    snprintf(part, sizeof(part), "%s.part", path);
    FILE *file = fopen(part, "w");
    EXPECT(file && fwrite(name, 1, length, file) == length && fclose(file) == 0);
    OK(rename(part, path));
    snprintf(path, sizeof(path), "%s/alone", folder);
    peer = access(path, F_OK) == 0 ? me : 1 - me;
    snprintf(path, sizeof(path), "%s/%d", folder, peer);
    while (!(file = fopen(path, "r")))
        hurry();
    EXPECT(fread(name, 1, sizeof(name), file) == length);
    fclose(file);
    EXPECT(fi_av_insert(av, name, 1, &to, 0, NULL) == 1);
    size_t again = sizeof(path);
    OK(fi_av_lookup(av, to, path, &again));
    EXPECT(again == length && memcmp(path, name, length) == 0);
}

static void close_all(void)
{
    OK(fi_close(&mr->fid));
    OK(fi_close(&ep->fid));
    EXPECT(fi_close(&domain->fid) == -FI_EBUSY);
    OK(fi_close(&av->fid));
    OK(fi_close(&tx->fid));
    OK(fi_close(&rx->fid));
    OK(fi_close(&counter->fid));
    OK(fi_close(&remote_counter->fid));
    OK(fi_close(&domain->fid));
    OK(fi_close(&fabric->fid));
    fi_freeinfo(info);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"tagged", tagged},
                 {"peeks", peeks},
                 {"cancels_and_cuts", cancels_and_cuts},
                 {"flags_of_receives", flags_of_receives},
                 {"several_in_one_buffer", several_in_one_buffer},
                 {"cancels_several", cancels_several},
                 {"rma", rma},
                 {"many_at_once", many_at_once},
                 {"atomics", atomics},
                 {"atomics_without_result", atomics_without_result},
                 {"waits", waits},
                 {"waits_for_one_of_two", waits_for_one_of_two},
                 {"counts", counts},
                 {"delivered", delivered},
                 {"closed_ports", closed_ports},
                 {"held_back", held_back},
                 {"calls_that_are_not_there", calls_that_are_not_there}};
    if (count < 2)
        return 2;
    deadline = time(NULL) + LIMIT_S;
    memory = calloc(1, LONGEST);
    out = calloc(1, LONGEST);
    in = calloc(1, LONGEST);
    open_all();
    find_peer(words[1]);
    if (count > 2)
        return gone();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        meet();
        cases[i].run();
        if (me == 0)
            printf("ok %s\n", cases[i].name);
        fflush(stdout);
    }
    meet();
    close_all();
    free(memory);
    free(out);
    free(in);
    return 0;
}

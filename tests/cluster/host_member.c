/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member of a job of several hosts, for the tests of starting it. It looks inside the library, to
 * see what a NIC is told about its peers: the roster, and their cards. The NIC is shm, which
 * reaches this host only, because nothing is sent here.
 *   hello    says who and where it is
 *   time     says how long rh_join took
 *   cards    tells its card and gets those of all others
 *   idle     says "ready", then waits until somebody ends it
 *   watch N  as idle, but says what becomes of the others, and ends well after N deaths
 *   leave    rank 0 waits until all others have left; the others leave after a while
 */
#include "base/clock.h"
#include "job/job.h"

#include <rhinet/error.h>
#include <rhinet/job.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_NS (60 * NS_PER_S)

static void nap(void)
{
    usleep(2000);
}

static void say_where(const struct rh_job *job, const char *word)
{
    const struct roster *roster = job->nic_job.roster;
    int rank = rh_rank(job);
    const struct roster_node *node = roster_node_of(roster, rank);
    printf("%s rank %d of %d node %d of %u host %s address %s pid %d\n", word, rank, rh_size(job),
           rh_node(job, rank), roster->node_count, node->host,
           node->address[0] ? node->address : "-", (int)getpid());
    fflush(stdout);
}

static int make_card(uint8_t card[NIC_CARD_MAX], int rank)
{
    int length = 1 + rank * 97 % NIC_CARD_MAX;
    for (int i = 0; i < length; i++)
        card[i] = (uint8_t)(rank * 31 + i);
    return length;
}

static int get_card(struct rh_job *job, int rank, uint8_t *card, size_t *length)
{
    int64_t deadline_ns = clock_deadline_ns(WAIT_NS);
    int result;
    do {
        *length = NIC_CARD_MAX;
        result = job->broker.card_get(job->broker.context, rank, card, length);
        if (result == RH_EAGAIN)
            nap();
    } while (result == RH_EAGAIN && clock_now_ns() < deadline_ns);
    return result;
}

static int cards(struct rh_job *job)
{
    uint8_t card[NIC_CARD_MAX], wanted[NIC_CARD_MAX];
    int length = make_card(card, rh_rank(job));
    if (job->broker.card_put(job->broker.context, card, (size_t)length) < 0)
        return 1;
    for (int rank = 0; rank < rh_size(job); rank++) {
        size_t got = 0;
        length = make_card(wanted, rank);
        if (get_card(job, rank, card, &got) < 0 || got != (size_t)length ||
            memcmp(card, wanted, got) != 0)
            return 1;
    }
    printf("cards %d\n", rh_rank(job));
    /* Nobody leaves before all have seen all: whoever has left cannot be asked. */
    return 0;
}

static int watch(struct rh_job *job, int deaths_wanted)
{
    int size = rh_size(job), deaths = 0;
    int64_t deadline_ns = clock_deadline_ns(WAIT_NS);
    char *seen = calloc((size_t)size, 1);
    say_where(job, "ready");
    while (seen && deaths < deaths_wanted && clock_now_ns() < deadline_ns) {
        for (int rank = 0; rank < size; rank++) {
            int state = rh_peer_state(job, rank);
            if (state < RH_PEER_LEFT || seen[rank])
                continue;
            seen[rank] = 1;
            deaths += state == RH_PEER_DIED;
            nic_peer_gone(job->nic, rank, "watch");
            printf("rank %d sees: %s\n", rh_rank(job), rh_error_text());
            fflush(stdout);
        }
        nap();
    }
    free(seen);
    return deaths < deaths_wanted;
}

static int leave(struct rh_job *job)
{
    int64_t deadline_ns = clock_deadline_ns(WAIT_NS);
    int left = 0;
    while (rh_rank(job) == 0 && left < rh_size(job) - 1 && clock_now_ns() < deadline_ns) {
        left = 0;
        for (int rank = 1; rank < rh_size(job); rank++)
            left += rh_peer_state(job, rank) == RH_PEER_LEFT;
        nap();
    }
    if (rh_rank(job) == 0)
        printf("all have left: %d\n", left);
    return rh_rank(job) == 0 && left < rh_size(job) - 1;
}

static int act(struct rh_job *job, const char *mode, const char *number, int64_t join_ns)
{
    if (strcmp(mode, "hello") == 0)
        say_where(job, "hello");
    else if (strcmp(mode, "time") == 0)
        printf("join_ms %.1f\n", (double)join_ns / NS_PER_MS);
    else if (strcmp(mode, "cards") == 0)
        return cards(job);
    else if (strcmp(mode, "leave") == 0)
        return leave(job);
    else
        return watch(job, number ? (int)strtol(number, NULL, 10) : 1 << 30);
    return 0;
}

int main(int argc, char **argv)
{
    struct rh_job *job;
    struct rh_join_options options = {.struct_size = sizeof(options), .nic = "shm"};
    int64_t before_ns = clock_now_ns();
    if (rh_join(&job, &options) < 0) {
        fprintf(stderr, "cannot join: %s\n", rh_error_text());
        return 1;
    }
    int64_t join_ns = clock_now_ns() - before_ns;
    int status = act(job, argc > 1 ? argv[1] : "hello", argc > 2 ? argv[2] : NULL, join_ns);
    if (status)
        fprintf(stderr, "rank %d: %s\n", rh_rank(job), rh_error_text());
    rh_leave(job);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cache-scribble SEED PASSES: a client that writes over every word of the memory that the agent
 * shares with it, with requests among it, and rings the bell. Says "writable NAME" for memory that
 * clients are only to read and that it could map for writing, and "accepted KIND BLOCK" for what it
 * said of a writer of no file's word.
 */
#include "cache/client/state.h"
#include "cache/raw.h"
#include "pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARENA, CONTROL, WATCH, CARD, COUNT };

static const char *const names[COUNT] = {"arena", "control", "watch", "card"};

static uint64_t some_word(struct prng *prng)
{
    static const uint64_t odd[] = {0,          1,          UINT64_MAX,   1ull << 63, INT64_MAX,
                                   UINT32_MAX, 1ull << 32, CACHE_POSTED, 64,         4096};
    uint64_t which = prng_below(prng, 2 * sizeof(odd) / sizeof(odd[0]));
    return which < sizeof(odd) / sizeof(odd[0]) ? odd[which] : prng_next(prng);
}

/* Requests that make sense but for their numbers. */
static void post_requests(struct cache_control *control, const struct cache_shape *shape,
                          struct prng *prng)
{
    for (uint32_t i = 0; i < shape->request_count; i++) {
        struct cache_request *request = &control->request[i];
        request->kind = (uint32_t)prng_below(prng, 8);
        request->file_id[0] = some_word(prng);
        request->block = some_word(prng);
        request->count = (uint32_t)some_word(prng);
        atomic_store(&request->pid, (int32_t)some_word(prng));
        atomic_store(&request->stage, (uint32_t)prng_below(prng, 1000) * CACHE_STAGES +
                                          (uint32_t)prng_below(prng, CACHE_STAGES));
        atomic_fetch_or(&control->posted[i / 64], 1ull << (i % 64));
    }
    atomic_fetch_add(&control->bell, 1);
    raw_futex_wake(&control->bell, INT32_MAX);
}

static void scribble(struct cache_control *control, const struct cache_shape *shape,
                     struct prng *prng)
{
    volatile uint64_t *words = (volatile uint64_t *)control;
    for (uint64_t i = 0; i < shape->control_length / sizeof(uint64_t); i++)
        words[i] = some_word(prng);
    raw_futex_wake(&control->bell, INT32_MAX);
    post_requests(control, shape, prng);
}

/* An agent that has no processor just now is no answer. */
static int answer_to(struct cache_client *client, enum cache_request_kind kind, uint64_t block)
{
    enum { TRIES = 500, PAUSE_US = 20000 };
    struct cache_wish wish = {.kind = kind, .block = block};
    int result = cache_ask(client, &wish);
    for (int i = 0; i < TRIES && (result == -ETIMEDOUT || result == -EBUSY); i++) {
        usleep(PAUSE_US);
        result = cache_ask(client, &wish);
    }
    return result;
}

/* 0, or the error that the agent gives for a word that there is. */
static int tell_of_no_word(const struct cache_shape *shape)
{
    static const enum cache_request_kind kinds[] = {CACHE_WRITE_BEGIN, CACHE_WRITE_END,
                                                    CACHE_WRITE_LAST, CACHE_CHANGED};
    const uint64_t blocks[] = {shape->watch_count, 1ull << 32, UINT64_MAX};
    struct cache_client *client;
    int result = cache_client_attach(&client, NULL);
    if (result < 0)
        return result;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (unsigned j = 0; j < sizeof(blocks) / sizeof(blocks[0]); j++) {
            if (answer_to(client, kinds[i], blocks[j]) != -EINVAL)
                printf("accepted %d %llu\n", (int)kinds[i], (unsigned long long)blocks[j]);
        }
    }
    result = answer_to(client, CACHE_CHANGED, shape->watch_count - 1);
    cache_client_detach(client);
    return result;
}

int main(int argc, char **argv)
{
    int fds[COUNT];
    struct cache_shape shape;
    const char *name = getenv(CACHE_SOCKET_VARIABLE);
    if (argc != 3 || !name)
        return 2;
    struct prng prng = {.state = strtoull(argv[1], NULL, 10)};
    struct cache_dialogue first = {CACHE_CALL_ATTACH, -1, fds, 2, &shape, 0, NULL};
    struct cache_dialogue second = {CACHE_CALL_WATCH, -1, fds + WATCH, 2, NULL, 0, NULL};
    int line = cache_dial(name);
    if (line < 0 || cache_talk(line, &first) < 0 || cache_talk(line, &second) < 0)
        return 1;
    for (int i = 0; i < COUNT; i++) {
        if (i != CONTROL && raw_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i]))
            printf("writable %s\n", names[i]);
    }
    if (tell_of_no_word(&shape) < 0)
        return 1;
    struct cache_control *control = raw_map(shape.control_length, PROT_READ | PROT_WRITE,
                                            MAP_SHARED, fds[CONTROL]);
    for (long i = strtol(argv[2], NULL, 10); control && i > 0; i--)
        scribble(control, &shape, &prng);
    printf("scribbled\n");
    return control ? 0 : 1;
}

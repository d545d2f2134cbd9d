/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random programs on shared pages against a model: pages_random SEED [COUNT].
 *
 * Every rank works out what all ranks do. A program is a row of phases with a barrier after each;
 * in a phase every byte may be written by one rank, chosen at random, byte by byte or in longer
 * pieces, so that most pages have several writers; and bytes that nobody writes in this phase are
 * read by anybody and compared with the model. In between, locks protect counters that lie among
 * those bytes.
 */
#include "pages_member.h"

#define PAGES_MAX 16
#define COUNTERS  8
#define PHASES    12

struct program {
    struct pages_member *me;
    uint64_t seed;
    uint64_t round; /* values differ from round to round, even if the writers do not */
    size_t length;
    unsigned char *model;
    uint64_t counts[COUNTERS];
};

static uint64_t at_random(const struct program *program, uint64_t phase, uint64_t what)
{
    return member_mix(program->seed ^ member_mix(phase << 40 ^ what));
}

/* Bytes are dealt out in grains of 1, 4, 64 or 4096 bytes; some have no writer. */
static int writer_of(const struct program *program, uint64_t phase, size_t byte)
{
    static const size_t grains[] = {1, 4, 64, PAGE, 3 * PAGE};
    size_t grain = grains[at_random(program, phase, 1) % 5];
    uint64_t density = 2 + at_random(program, phase, 2) % 30;
    uint64_t dice = at_random(program, phase, 1000 + byte / grain);
    return dice % density != 0 ? -1 : (int)(dice / density % (unsigned)program->me->size);
}

static unsigned char value_of(const struct program *program, size_t byte)
{
    return (unsigned char)at_random(program, program->round, 1u << 30 | byte);
}

static void compare(const struct program *program, uint64_t phase, size_t byte)
{
    unsigned char got = *(volatile unsigned char *)(program->me->base + byte);
    if (got != program->model[byte])
        MEMBER_FAIL(&program->me->member,
                    "seed %llu, phase %llu, byte %zu (page %zu, home %d): %d instead of %d",
                    (unsigned long long)program->seed, (unsigned long long)phase, byte, byte / PAGE,
                    rh_dsm_pages_home(program->me->pages, program->me->base + byte), got,
                    program->model[byte]);
}

/* Counters lie a few bytes apart in the first page and the last, each under a lock. */
static uint64_t *counter(const struct program *program, unsigned which)
{
    size_t at = which % 2 == 0 ? which * 8 : program->length - PAGE + which * 8;
    return (uint64_t *)(program->me->base + at);
}

static bool is_counter(const struct program *program, size_t byte)
{
    return byte < COUNTERS * 8 ||
           (byte >= program->length - PAGE && byte < program->length - PAGE + COUNTERS * 8);
}

static void count(struct program *program, unsigned which)
{
    pages_member_lock(program->me, which);
    *counter(program, which) += 1;
    pages_member_unlock(program->me, which);
}

static void write_and_read(struct program *program, uint64_t phase)
{
    struct pages_member *me = program->me;
    for (size_t byte = 0; byte < program->length; byte++) {
        if (is_counter(program, byte))
            continue;
        int writer = writer_of(program, phase, byte);
        if (writer == me->rank)
            me->base[byte] = (char)value_of(program, byte);
        if (writer == -1 && at_random(program, phase, byte << 8 | (unsigned)me->rank) % 64 == 0)
            compare(program, phase, byte);
        if (byte % 4099 == 77 && at_random(program, phase, byte + 5) % 3 == 0)
            count(program, (unsigned)(byte / 4099 + (unsigned)me->rank) % COUNTERS);
    }
}

/* What all ranks did in a phase. */
static void follow(struct program *program, uint64_t phase)
{
    for (size_t byte = 0; byte < program->length; byte++) {
        if (is_counter(program, byte))
            continue;
        if (writer_of(program, phase, byte) >= 0)
            program->model[byte] = value_of(program, byte);
        if (byte % 4099 == 77 && at_random(program, phase, byte + 5) % 3 == 0)
            for (int rank = 0; rank < program->me->size; rank++)
                program->counts[(byte / 4099 + (unsigned)rank) % COUNTERS]++;
    }
}

static int scattered_home(void *context, uint64_t page)
{
    const struct pages_member *me = context;
    return (int)(page * 7 % 5 % (unsigned)me->size);
}

static void run(uint64_t seed, struct pages_member *me)
{
    struct program program = {.me = me, .seed = member_mix(seed)};
    uint64_t dice = program.seed;
    size_t pages = 2 + dice % PAGES_MAX;
    struct rh_dsm_pages_options options = {.struct_size = sizeof(options),
                                           .length = pages * PAGE,
                                           .home = (enum rh_dsm_home)(dice / 64 % 3),
                                           .home_of = scattered_home,
                                           .context = me,
                                           .is_settled = dice / 256 % 4 == 0,
                                           .lock_count = COUNTERS + dice % 3};
    MEMBER_OK(&me->member, rh_dsm_pages_open(&me->pages, me->dsm, &options));
    me->base = rh_dsm_pages_base(me->pages);
    program.length = pages * PAGE;
    program.model = calloc(program.length, 1);
    for (uint64_t phase = 0; phase < PHASES; phase++) {
        /* Some programs write the same pieces again and again, so that homes move. */
        uint64_t dealt = dice / 4096 % 2 == 0 ? phase : phase / 6;
        program.round = phase;
        write_and_read(&program, dealt);
        pages_member_barrier(me);
        follow(&program, dealt);
        for (size_t byte = 0; phase % 4 == 3 && byte < program.length; byte++)
            if (!is_counter(&program, byte))
                compare(&program, phase, byte);
        pages_member_barrier(me);
    }
    for (unsigned i = 0; i < COUNTERS; i++)
        MEMBER_CHECK(&me->member, *counter(&program, i) == program.counts[i]);
    MEMBER_OK(&me->member, rh_dsm_pages_close(me->pages));
    free(program.model);
}

int main(int count_of, char **arguments)
{
    uint64_t seed = count_of > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    uint64_t runs = count_of > 2 ? strtoull(arguments[2], NULL, 0) : 1;
    struct rh_dsm_options dsm = {.struct_size = sizeof(dsm), .heap_length = 1 << 20};
    struct pages_member me = {0};
    member_start(&me.member, seed);
    me.rank = me.member.rank;
    me.size = me.member.size;
    dsm.msg = me.member.msg;
    MEMBER_OK(&me.member, rh_dsm_open(&me.dsm, me.member.job, &dsm));
    for (uint64_t i = 0; i < runs; i++)
        run(seed + i, &me);
    MEMBER_OK(&me.member, rh_dsm_close(me.dsm));
    member_end(&me.member);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random programs on shared memory, and a checker of their histories.
 *
 *   dsm-random --seed S --count N [--ops N]
 *
 * Every rank, with one thread or two, acquires a few variables at random, for reading or writing,
 * waiting or not, and writes down what it held from when to when, and which version of the data it
 * saw. All is then brought to rank 0 and must fit entry consistency: versions of a variable are
 * written one after the other, none twice and none left out; nobody holds anything while another
 * writes it; and who reads sees the version of the last write that ended before. All ranks must be
 * on one machine, whose clock they share. A failure prints the seed, which gives the same program
 * again, if not the same order of things.
 */
#include "../msg/member.h"

#include <pthread.h>
#include <rhinet/dsm.h>
#include <stdatomic.h>

#define VARIABLES   3
#define THREADS_MAX 2
#define OPS_MAX     256
#define REGIONS     3
#define REGION      1600 /* bytes, of which each variable has REGIONS */
#define WORDS       (REGION / 8)

enum { KIND_NONE, KIND_READ, KIND_WRITE };

struct hold {
    int64_t from_ns, to_ns;
    uint64_t version;
    uint32_t variable;
    uint32_t kind;
};

struct history {
    struct hold hold[THREADS_MAX][OPS_MAX];
};

struct program {
    struct member member;
    struct rh_dsm *dsm;
    struct rh_set *set;
    uint64_t offset[VARIABLES][REGIONS];
    uint64_t first[VARIABLES]; /* version when this seed began */
    struct history history;
    struct history *all; /* of rank 0 */
    unsigned seed;
    unsigned op_count;
    int thread_count;
};

struct worker {
    struct program *program;
    int thread;
    uint64_t random;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Data ----------------------------------------------------------------------------------- */

static uint64_t *region(const struct program *program, unsigned variable, int index)
{
    return rh_dsm_ptr(program->dsm, program->offset[variable][index]);
}

/* All of a variable's data follows from its version: mostly the version itself, and a few words
 * that stay, so that differences are few. */
static uint64_t word_of(uint64_t version, unsigned variable, int index, unsigned word)
{
    bool changes = word % 50 == 0 || version % 8 == 0;
    return (changes ? version : version - version % 8) * 1000003 + variable * 101 +
           (unsigned)index * 7 + word;
}

static void write_version(struct program *program, unsigned variable, uint64_t version)
{
    for (int i = 0; i < REGIONS; i++) {
        uint64_t *words = region(program, variable, i);
        for (unsigned j = 1; j < WORDS; j++) {
            uint64_t value = word_of(version, variable, i, j);
            if (words[j] != value)
                words[j] = value;
        }
        words[0] = version;
    }
}

static uint64_t read_version(struct program *program, unsigned variable)
{
    uint64_t version = region(program, variable, 0)[0];
    for (int i = 0; i < REGIONS; i++) {
        const uint64_t *words = region(program, variable, i);
        if (words[0] != version)
            MEMBER_FAIL(&program->member, "seed %u, variable %u: versions %llu and %llu at once",
                        program->seed, variable, (unsigned long long)version,
                        (unsigned long long)words[0]);
        for (unsigned j = 1; j < WORDS; j++)
            if (words[j] != word_of(version, variable, i, j))
                MEMBER_FAIL(&program->member,
                            "seed %u, variable %u: region %d word %u is not of "
                            "version %llu",
                            program->seed, variable, i, j, (unsigned long long)version);
    }
    return version;
}

/* ---- One thread's program ------------------------------------------------------------------- */

static void linger(uint64_t random)
{
    if (random % 8 == 0)
        for (volatile unsigned i = 0; i < random / 8 % 2000; i++)
            ;
    if (random % 211 == 0)
        member_sleep_us(50);
}

static int acquire(struct worker *worker, unsigned variable, enum rh_dsm_access access)
{
    struct program *program = worker->program;
    uint64_t chance = member_next(&worker->random) % 16;
    int64_t timeout_ns = chance == 0   ? RH_TIMEOUT_NONE
                         : chance == 1 ? RH_MILLISECONDS(1)
                                       : RH_TIMEOUT_DEFAULT;
    int result = rh_dsm_acquire(program->dsm, variable, access, timeout_ns);
    bool may_fail = timeout_ns != RH_TIMEOUT_DEFAULT;
    if (result < 0 && !(may_fail && (result == RH_EAGAIN || result == RH_ETIMEOUT)))
        MEMBER_FAIL(&program->member, "seed %u: acquire: %d", program->seed, result);
    return result;
}

/* The same memory in another order, so that what travels is cut differently. */
static void bind_anew(struct program *program, unsigned variable, uint64_t random)
{
    struct rh_dsm_region regions[REGIONS];
    for (int i = 0; i < REGIONS; i++) {
        int from = (i + (int)(random % REGIONS)) % REGIONS;
        regions[i] = (struct rh_dsm_region){.offset = program->offset[variable][from],
                                            .length = REGION};
        if (random & 16) /* as two blocks, which touch each other */
            regions[i] = (struct rh_dsm_region){.offset = program->offset[variable][from],
                                                .length = REGION / 2,
                                                .block_count = 2,
                                                .stride = REGION / 2};
    }
    MEMBER_OK(&program->member, rh_dsm_bind(program->dsm, variable, regions, REGIONS));
}

static void change_way(struct program *program, unsigned variable, uint64_t random)
{
    static const unsigned ways[] = {RH_DSM_AUTO,
                                    RH_DSM_PULL,
                                    RH_DSM_PUSH,
                                    RH_DSM_AUTO | RH_DSM_DIFF,
                                    RH_DSM_PULL | RH_DSM_DIFF,
                                    RH_DSM_PUSH | RH_DSM_DIFF};
    if (random % 32 == 0)
        bind_anew(program, variable, random >> 8);
    else if (random % 32 == 1)
        MEMBER_OK(&program->member, rh_dsm_mode(program->dsm, variable, ways[(random >> 8) % 6]));
}

static void one_hold(struct worker *worker, struct hold *hold)
{
    struct program *program = worker->program;
    unsigned variable = (unsigned)(member_next(&worker->random) % VARIABLES);
    bool writes = member_next(&worker->random) % 3 == 0;
    if (member_next(&worker->random) % 32 == 0)
        rh_dsm_prefetch(program->dsm, &variable, 1);
    if (acquire(worker, variable, writes ? RH_DSM_WRITE : RH_DSM_READ) < 0)
        return;
    hold->from_ns = now_ns();
    hold->variable = variable;
    hold->version = read_version(program, variable);
    linger(member_next(&worker->random));
    if (writes) {
        hold->version++;
        change_way(program, variable, member_next(&worker->random));
        write_version(program, variable, hold->version);
    } else if (read_version(program, variable) != hold->version) {
        MEMBER_FAIL(&program->member, "seed %u, variable %u changed while it was read",
                    program->seed, variable);
    }
    hold->to_ns = now_ns();
    hold->kind = writes ? KIND_WRITE : KIND_READ;
    MEMBER_OK(&program->member, rh_dsm_release(program->dsm, variable));
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (unsigned i = 0; i < worker->program->op_count; i++)
        one_hold(worker, &worker->program->history.hold[worker->thread][i]);
    return NULL;
}

/* ---- The checker ---------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static void complain(const struct program *program, const struct hold *hold, const char *what)
{
    MEMBER_FAIL(&program->member, "seed %u, variable %u, version %llu: %s", program->seed,
                hold->variable, (unsigned long long)hold->version, what);
}

/* All holds of one variable, in the order of their beginning. */
static void check_order(const struct program *program, const struct hold *holds, size_t count,
                        uint64_t version)
{
    int64_t reads_end = 0, write_end = 0;
    for (size_t i = 0; i < count; i++) {
        const struct hold *hold = &holds[i];
        if (hold->from_ns < write_end)
            complain(program, hold, "held while another writes");
        if (hold->kind == KIND_READ) {
            if (hold->version != version)
                complain(program, hold, "not the last version written");
            reads_end = hold->to_ns > reads_end ? hold->to_ns : reads_end;
            continue;
        }
        if (hold->from_ns < reads_end)
            complain(program, hold, "written while another reads");
        if (hold->version != version + 1)
            complain(program, hold, "written twice, or one left out");
        version = hold->version;
        write_end = hold->to_ns;
    }
}

static void check_histories(struct program *program)
{
    size_t most = (size_t)program->member.size * THREADS_MAX * OPS_MAX;
    struct hold *of_one = malloc(most * sizeof(*of_one));
    const struct hold *holds = program->all[0].hold[0];
    for (unsigned variable = 0; variable < VARIABLES; variable++) {
        size_t count = 0;
        for (size_t i = 0; i < most; i++)
            if (holds[i].kind != KIND_NONE && holds[i].variable == variable)
                of_one[count++] = holds[i];
        qsort(of_one, count, sizeof(*of_one), by_start);
        check_order(program, of_one, count, program->first[variable]);
    }
    free(of_one);
}

/* ---- Seeds ---------------------------------------------------------------------------------- */

static void run_seed(struct program *program, unsigned seed)
{
    struct member *member = &program->member;
    pthread_t threads[THREADS_MAX];
    struct worker workers[THREADS_MAX];
    program->seed = seed;
    memset(&program->history, 0, sizeof(program->history));
    for (unsigned i = 0; i < VARIABLES; i++) {
        MEMBER_OK(member, rh_dsm_acquire(program->dsm, i, RH_DSM_READ, RH_TIMEOUT_DEFAULT));
        program->first[i] = read_version(program, i);
        MEMBER_OK(member, rh_dsm_release(program->dsm, i));
    }
    MEMBER_OK(member, rh_dsm_barrier(program->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
    program->thread_count = 1 + (int)(member_mix(seed + 77) % THREADS_MAX);
    for (int i = 0; i < program->thread_count; i++) {
        workers[i] = (struct worker){
            program, i, member_mix(seed * 1009 + (unsigned)member->rank * 31 + (unsigned)i)};
        if (i > 0)
            MEMBER_CHECK(member, pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    work(&workers[0]);
    for (int i = 1; i < program->thread_count; i++)
        pthread_join(threads[i], NULL);
    const rh_dsm_variable some[] = {0, 1};
    MEMBER_OK(member, rh_dsm_barrier(program->dsm, some, seed % 3, RH_TIMEOUT_DEFAULT));
    MEMBER_OK(member, rh_gather(program->set, 0, &program->history, program->all,
                                sizeof(program->history)));
    if (member->rank == 0)
        check_histories(program);
}

static void open_program(struct program *program, unsigned seed)
{
    struct member *member = &program->member;
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    member_start(member, seed);
    struct rh_dsm_options options = {.struct_size = sizeof(options),
                                     .heap_length = 1 << 20,
                                     .variable_count = VARIABLES,
                                     .msg = member->msg};
    MEMBER_OK(member, rh_dsm_open(&program->dsm, member->job, &options));
    MEMBER_OK(member, rh_set_create(member->msg, &spec, &program->set));
    program->all = calloc((size_t)member->size, sizeof(struct history));
    for (unsigned i = 0; i < VARIABLES; i++) {
        for (int j = 0; j < REGIONS; j++)
            MEMBER_OK(member, rh_dsm_alloc_named(program->dsm, i * REGIONS + (unsigned)j, REGION,
                                                 &program->offset[i][j]));
        if (rh_dsm_owner(program->dsm, i) != member->rank)
            continue;
        MEMBER_OK(member, rh_dsm_acquire(program->dsm, i, RH_DSM_WRITE, RH_TIMEOUT_DEFAULT));
        bind_anew(program, i, 0);
        write_version(program, i, 0);
        MEMBER_OK(member, rh_dsm_release(program->dsm, i));
    }
    MEMBER_OK(member, rh_dsm_barrier(program->dsm, NULL, 0, RH_TIMEOUT_DEFAULT));
}

int main(int count, char **arguments)
{
    static struct program program;
    unsigned seed = 1, seeds = 1;
    program.op_count = 60;
    for (int i = 1; i + 1 < count; i += 2) {
        unsigned value = (unsigned)strtoul(arguments[i + 1], NULL, 10);
        if (strcmp(arguments[i], "--seed") == 0)
            seed = value;
        else if (strcmp(arguments[i], "--count") == 0)
            seeds = value;
        else if (strcmp(arguments[i], "--ops") == 0)
            program.op_count = value < OPS_MAX ? value : OPS_MAX;
        else
            return 2;
    }
    open_program(&program, seed);
    for (unsigned i = 0; i < seeds; i++)
        run_seed(&program, seed + i);
    MEMBER_OK(&program.member, rh_set_destroy(program.set));
    MEMBER_OK(&program.member, rh_dsm_close(program.dsm));
    free(program.all);
    member_end(&program.member);
    return 0;
}

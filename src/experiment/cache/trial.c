/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See trial.h.
 */
#include "experiment/cache/trial.h"

#include "base/clock.h"
#include "base/settings.h"
#include "base/text.h"
#include "cache/agent/setup.h"
#include "cli/json_put.h"
#include "experiment/experiment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SERVE_MS 20

/* ---- For the kinds -------------------------------------------------------------------------- */

int trial_file_open(struct trial *trial, const char *path, struct trial_file *file)
{
    struct stat status;
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &status) < 0) {
        cli_say("%s: %s", path, strerror(errno));
        return -EIO;
    }
    file->size = (uint64_t)status.st_size;
    /* A real file system is read from where it is, not from the kernel's cache; a pretended one
     * takes its time, and no more than that. */
    if (trial->is_plain && trial->agent.node.pretended == 0)
        posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    int result = trial->is_plain ? 0 : cache_file_open(trial->client, &file->file, file->fd);
    if (result < 0)
        cli_say("%s is not cached: %s", path, strerror(-result));
    return result;
}

int trial_pieces(const struct trial *trial, const struct trial_file *file, uint64_t *count)
{
    *count = file->size / trial->length;
    if (*count > 0)
        return 0;
    cli_say("%s is shorter than a read", trial->path);
    return -EINVAL;
}

void trial_file_close(struct trial_file *file)
{
    cache_file_close(&file->file);
    close(file->fd);
}

int trial_read(struct trial *trial, struct trial_file *file, uint64_t offset, uint64_t length)
{
    ssize_t got;
    if (trial->is_plain) {
        got = pread(file->fd, trial->buffer, length, (off_t)offset);
        if (got > 0 && trial->agent.node.pretended > 0)
            node_pretend(&trial->agent.node, (uint64_t)got);
    } else {
        got = cache_file_read(&file->file, file->fd, trial->buffer, length, (off_t)offset);
    }
    if (got <= 0)
        return -EIO;
    trial->bytes += (uint64_t)got;
    return 0;
}

int trial_meet(struct trial *trial)
{
    return rh_barrier(trial->set, RH_TIMEOUT_DEFAULT);
}

void trial_figure(struct trial *trial, const char *name, double value)
{
    trial->figure_names[trial->figure_count] = name;
    trial->figures[trial->figure_count++] = value;
}

/* ---- Being a rank --------------------------------------------------------------------------- */

static void *serve(void *argument)
{
    struct trial *trial = argument;
    while (!atomic_load_explicit(&trial->agent.is_ending, memory_order_acquire))
        agent_serve(&trial->agent, SERVE_MS);
    return NULL;
}

static int join(struct trial *trial, pthread_t *server)
{
    struct settings settings;
    struct agent_options options = {0};
    struct rh_set_spec spec = {.struct_size = sizeof(spec), .id = 1};
    int result = settings_load(&settings, environ);
    if (result == 0)
        result = setup_agent(&options, &settings);
    if (result == 0)
        result = rh_join(&trial->job, NULL);
    if (result == 0)
        result = agent_start(&trial->agent, trial->job, &options);
    if (result == 0)
        result = rh_msg_open(&trial->msg, trial->job);
    if (result == 0)
        result = rh_set_create(trial->msg, &spec, &trial->set);
    if (result < 0)
        return result;
    trial->rank = rh_rank(trial->job);
    trial->size = rh_size(trial->job);
    result = -pthread_create(server, NULL, serve, trial);
    return result < 0 ? result : cache_client_attach(&trial->client, options.socket_name);
}

/* What each rank tells rank 0. */
struct outcome {
    uint64_t bytes;
    double cpu_s;
    uint64_t counters[CACHE_COUNTER_COUNT];
};

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void print(const struct trial *trial, const struct outcome *all, double seconds)
{
    struct outcome sum = {0};
    for (int rank = 0; rank < trial->size; rank++) {
        sum.bytes += all[rank].bytes;
        sum.cpu_s += all[rank].cpu_s;
        for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
            sum.counters[i] += all[rank].counters[i];
    }
    json_t *object = json_object();
    json_put_text(object, "kind", trial->kind);
    json_put_number(object, "nodes", (uint64_t)trial->size);
    json_put_flag(object, "plain", trial->is_plain);
    json_put_real(object, "seconds", seconds);
    json_put_real(object, "cpu_seconds", sum.cpu_s);
    json_put_number(object, "bytes", sum.bytes);
    json_put_real(object, "mib_per_s", (double)sum.bytes / (1 << 20) / seconds);
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        json_put_number(object, cache_counter_name(i), sum.counters[i]);
    for (int i = 0; i < trial->figure_count; i++)
        json_put_real(object, trial->figure_names[i], trial->figures[i]);
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static int measure(struct trial *trial, const struct trial_kind *kind)
{
    struct outcome own = {0};
    struct outcome *all = calloc((size_t)trial->size, sizeof(*all));
    int result = all ? 0 : -ENOMEM;
    if (result == 0 && kind->prepare)
        result = kind->prepare(trial);
    uint64_t before[CACHE_COUNTER_COUNT];
    trial->bytes = 0;
    if (result == 0)
        result = trial_meet(trial);
    cache_client_counters(trial->client, before);
    int64_t start_ns = clock_now_ns();
    double cpu_before = cpu_seconds();
    if (result == 0)
        result = kind->run(trial);
    if (result == 0)
        result = trial_meet(trial);
    double seconds = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    own.bytes = trial->bytes;
    own.cpu_s = cpu_seconds() - cpu_before;
    cache_client_counters(trial->client, own.counters);
    for (int i = 0; i < CACHE_COUNTER_COUNT; i++)
        own.counters[i] -= before[i];
    if (result == 0)
        result = rh_gather(trial->set, 0, &own, all, sizeof(own));
    if (result == 0 && trial->rank == 0)
        print(trial, all, seconds);
    free(all);
    return result;
}

static const struct trial_kind *find_kind(const char *name)
{
    const struct trial_kind *const tables[] = {trial_reads, trial_speeds};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct trial_kind *kind = tables[i]; kind->name; kind++) {
            if (strcmp(kind->name, name) == 0)
                return kind;
        }
    }
    return NULL;
}

static bool parse(struct trial *trial, char **words)
{
    snprintf(trial->kind, sizeof(trial->kind), "%s", words[0]);
    snprintf(trial->path, sizeof(trial->path), "%s", words[2]);
    trial->is_plain = strcmp(words[1], "plain") == 0;
    return text_to_u64(words[3], &trial->length) && trial->length > 0 &&
           text_to_u64(words[4], &trial->reads);
}

static int trial_run(int count, char **words)
{
    static struct trial trial; /* too large for a stack */
    pthread_t server;
    if (!parse(&trial, words))
        return cli_usage_error("LENGTH, at least 1, and READS are numbers");
    const struct trial_kind *kind = find_kind(trial.kind);
    if (!kind)
        return cli_usage_error("there is no kind %s", trial.kind);
    trial.buffer = aligned_alloc(4096, (trial.length + 4095) / 4096 * 4096);
    int result = trial.buffer ? join(&trial, &server) : -ENOMEM;
    if (result == 0)
        result = measure(&trial, kind);
    if (result < 0) {
        cli_say("%s: %s", trial.kind, rh_error_text()[0] ? rh_error_text() : strerror(-result));
        return 1;
    }
    trial_meet(&trial);
    rh_set_destroy(trial.set);
    rh_msg_close(trial.msg);
    cache_client_detach(trial.client);
    atomic_store(&trial.agent.is_ending, true);
    pthread_join(server, NULL);
    agent_end(&trial.agent);
    rh_leave(trial.job);
    free(trial.buffer);
    return 0;
}

const struct cli_command cli_bench_trial = {
    .name = ".trial",
    .help = "be a node of an experiment; `rhinet bench cache` calls it",
    .operands = "KIND plain|cache PATH LENGTH READS",
    .is_hidden = true,
    .run = trial_run};

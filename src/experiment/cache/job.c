/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bench.h: data, and trials as jobs of their own.
 */
#include "cache/key.h"
#include "cli/cache/cache.h"
#include "cli/cli.h"
#include "cli/json_put.h"
#include "experiment/cache/bench.h"

#include "base/splitmix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE (1u << 20)

/* ---- Data ----------------------------------------------------------------------------------- */

static int write_file(const char *path, uint64_t size)
{
    static uint64_t words[PIECE / 8];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool is_good = fd >= 0;
    for (uint64_t done = 0; is_good && done < size; done += PIECE) {
        for (size_t i = 0; i < PIECE / 8; i++)
            words[i] = splitmix_mix(done + i);
        size_t length = size - done < PIECE ? (size_t)(size - done) : PIECE;
        is_good = write(fd, words, length) == (ssize_t)length;
    }
    if (is_good)
        is_good = fsync(fd) == 0;
    if (!is_good)
        cli_say("cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return is_good ? 0 : 1;
}

static void remove_data(struct cache_bench *bench)
{
    char path[BENCH_PATH_MAX + 24];
    struct stat status;
    if (!bench->data[0] || stat(bench->data, &status) < 0)
        return;
    for (uint64_t i = 0; S_ISDIR(status.st_mode); i++) {
        snprintf(path, sizeof(path), "%s/%llu", bench->data, (unsigned long long)i);
        if (unlink(path) < 0)
            break;
    }
    remove(bench->data);
    bench->data[0] = '\0';
}

/* What was made before goes; 0, or an exit status. */
static int name_data(struct cache_bench *bench, const char *name)
{
    remove_data(bench);
    int length = snprintf(bench->data, sizeof(bench->data), "%s/%s", bench->scratch.folder, name);
    if (length < (int)sizeof(bench->data))
        return 0;
    cli_say("the path %s is too long", bench->scratch.folder);
    bench->data[0] = '\0';
    return 1;
}

int bench_data_file(struct cache_bench *bench, uint64_t size)
{
    if (name_data(bench, "rhinet-bench-file") != 0)
        return 1;
    bench->data_size = size;
    cli_progress("writing %llu MiB", (unsigned long long)size >> 20);
    return write_file(bench->data, size);
}

int bench_data_folder(struct cache_bench *bench, uint64_t count, uint64_t size)
{
    if (name_data(bench, "rhinet-bench-files") != 0)
        return 1;
    bench->data_size = count * size;
    cli_progress("writing %llu files", (unsigned long long)count);
    if (mkdir(bench->data, 0777) < 0) {
        cli_say("cannot make %s: %s", bench->data, strerror(errno));
        bench->data[0] = '\0'; /* whose is it? */
        return 1;
    }
    int status = 0;
    for (uint64_t i = 0; i < count && status == 0; i++) {
        char path[BENCH_PATH_MAX + 24];
        snprintf(path, sizeof(path), "%s/%llu", bench->data, (unsigned long long)i);
        status = write_file(path, size);
    }
    return status;
}

/* ---- Trials --------------------------------------------------------------------------------- */

static void put_number(const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    setenv(name, text, 1);
}

/* In the child: the settings of the trial. */
static void set_settings(const struct cache_bench *bench, const struct bench_trial *trial)
{
    setenv("RHINET_CACHE_PATH", bench->scratch.folder, 1);
    put_number("RHINET_CACHE_SIZE", trial->cache_bytes);
    put_number("RHINET_CACHE_BLOCK", trial->block_bytes ? trial->block_bytes : 1 << 20);
    put_number("RHINET_CACHE_GROUPS", (uint64_t)trial->groups);
    setenv("RHINET_CACHE_SINGLETS", trial->singlets ? trial->singlets : "auto", 1);
    setenv("RHINET_CACHE_SETTLE", "0s", 1); /* nobody changes what we made */
    setenv("RHINET_CACHE_PRETEND", trial->is_alone ? "" : bench->pretend, 1);
    if (trial->is_alone)
        setenv("RHINET_CACHE_AHEAD", "0", 1);
}

static void be_trial(const struct cache_bench *bench, const struct bench_trial *trial, int out)
{
    char own[PATH_MAX], nodes[16], length[24], reads[24];
    char *words[BENCH_RUN_WORDS + 16];
    int count = 0;
    if (cache_own_path(own, sizeof(own)) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    snprintf(nodes, sizeof(nodes), "%d", trial->nodes);
    snprintf(length, sizeof(length), "%llu", (unsigned long long)trial->length);
    snprintf(reads, sizeof(reads), "%llu", (unsigned long long)trial->reads);
    const char *const first[] = {own, "run", "-n", nodes};
    const char *const last[] = {
        own,         "bench", ".trial", trial->kind, trial->is_plain ? "plain" : "cache",
        bench->data, length,  reads};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        words[count++] = (char *)(uintptr_t)first[i];
    for (int i = 0; i < bench->run_word_count; i++)
        words[count++] = bench->run_words[i];
    for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
        words[count++] = (char *)(uintptr_t)last[i];
    words[count] = NULL;
    set_settings(bench, trial);
    execv(own, words);
    _exit(127);
}

/* The last line that is an object. */
static json_t *read_result(FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    json_t *result = NULL;
    while (getline(&line, &room, in) > 0) {
        json_t *object = line[0] == '{' ? json_loads(line, 0, NULL) : NULL;
        if (!object)
            continue;
        json_decref(result);
        result = object;
    }
    free(line);
    return result;
}

static void write_json(struct cache_bench *bench, const struct bench_trial *trial, json_t *result)
{
    json_put_format(result, "cache trial 1");
    json_put_text(result, "experiment", trial->experiment);
    json_put_number(result, "data_bytes", bench->data_size);
    json_put_number(result, "read_length", trial->length);
    json_put_number(result, "cache_bytes", trial->cache_bytes);
    json_put_number(result, "groups", (uint64_t)trial->groups);
    json_put_text(result, "singlets", trial->singlets ? trial->singlets : "auto");
    if (!bench->json)
        return;
    json_dumpf(result, bench->json, JSON_COMPACT);
    fputc('\n', bench->json);
    fflush(bench->json);
}

json_t *bench_trial_run(struct cache_bench *bench, const struct bench_trial *trial)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        cli_say("no pipe for a trial: %s", strerror(errno));
        return NULL;
    }
    cli_progress("%s, nodes: %d%s", trial->experiment, trial->nodes,
                 trial->is_plain ? ", without the cache" : "");
    fflush(NULL);
    int pid = fork();
    if (pid == 0)
        be_trial(bench, trial, ends[1]);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    json_t *result = in && pid > 0 ? read_result(in) : NULL;
    if (in)
        fclose(in);
    else
        close(ends[0]); /* the trial does not wait for us to read */
    if (pid > 0)
        waitpid(pid, &status, 0);
    cli_progress_end();
    if (!result || status != 0) {
        cli_say("trial %s on %d nodes failed", trial->kind, trial->nodes);
        json_decref(result);
        return NULL;
    }
    write_json(bench, trial, result);
    return result;
}

double bench_number(const json_t *result, const char *name)
{
    return json_number_value(json_object_get(result, name));
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See setup.h.
 */
#include "cache/agent/setup.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory_room.h"
#include "base/settings.h"
#include "base/text.h"
#include "cache/cache_layer.h"
#include "cache/raw.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define AUTO_BYTES_MAX (8ull << 30)
#define AUTO_PART      8 /* there may be other nodes on this host */
#define AHEAD_PART     4 /* no more of the memory is for reading ahead */

static int bad(const struct settings *settings, unsigned which, const char *expected)
{
    return error_fail(RH_EINVALID, "%s=%s: expected %s", setting_spec(which)->name,
                      setting_text(settings, which), expected);
}

static uint64_t auto_bytes(void)
{
    const char *limit;
    uint64_t bytes = memory_room(&limit) / AUTO_PART;
    return bytes < AUTO_BYTES_MAX ? bytes : AUTO_BYTES_MAX;
}

bool setup_size(const char *text, uint64_t *bytes)
{
    char number[24];
    const char *limit;
    double percent;
    size_t length = strlen(text);
    if (length < 2 || length > sizeof(number) || text[length - 1] != '%')
        return text_to_size(text, bytes);
    memcpy(number, text, length - 1);
    number[length - 1] = '\0';
    if (!text_to_real(number, &percent) || percent <= 0 || percent > 90)
        return false;
    *bytes = (uint64_t)((double)memory_room(&limit) / 100 * percent);
    return true;
}

static int read_sizes(const struct settings *settings, struct node_options *node)
{
    const char *size = setting_text(settings, SETTING_CACHE_SIZE);
    const char *ratio = setting_text(settings, SETTING_CACHE_SINGLETS);
    const char *pretend = setting_text(settings, SETTING_CACHE_PRETEND);
    uint64_t block;
    node->bytes = auto_bytes();
    if (strcmp(size, "auto") != 0 && !setup_size(size, &node->bytes))
        return bad(settings, SETTING_CACHE_SIZE, "a size such as 8G, a part such as 20%, or auto");
    if (!text_to_size(setting_text(settings, SETTING_CACHE_BLOCK), &block) ||
        block > CACHE_BLOCK_MAX)
        return bad(settings, SETTING_CACHE_BLOCK, "a power of two from 64K to 64M");
    node->block_length = (uint32_t)block;
    node->singlet_ratio = -1;
    if (strcmp(ratio, "auto") != 0 && (!text_to_real(ratio, &node->singlet_ratio) ||
                                       node->singlet_ratio < 0 || node->singlet_ratio > 0.99))
        return bad(settings, SETTING_CACHE_SINGLETS, "a number from 0 to 0.99, or auto");
    if (pretend[0] && !text_to_size(pretend, &node->pretended))
        return bad(settings, SETTING_CACHE_PRETEND, "bytes per second, such as 100M");
    return 0;
}

static int read_settings(const struct settings *settings, struct agent_options *options)
{
    struct node_options *node = &options->node;
    node->group_count = (int)setting_number(settings, SETTING_CACHE_GROUPS);
    node->lease_ns = (int64_t)setting_number(settings, SETTING_CACHE_LEASE);
    node->patience_ns = (int64_t)setting_number(settings, SETTING_CACHE_PATIENCE);
    node->use_checksum = setting_number(settings, SETTING_CACHE_CHECKSUM) != 0;
    node->use_direct = setting_number(settings, SETTING_CACHE_DIRECT) == 0;
    options->thread_count = (int)setting_number(settings, SETTING_CACHE_THREADS);
    return read_sizes(settings, node);
}

static int add_paths(struct mounts *mounts, const char *list)
{
    char text[256];
    if (list[0] == '\0')
        return mounts_network_add(mounts);
    snprintf(text, sizeof(text), "%s", list);
    char *rest = text;
    for (char *path; (path = strsep(&rest, ":"));) {
        int result = path[0] ? mounts_path_add(mounts, path) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

static void name_socket(struct agent_options *options)
{
    uint64_t chance = 0;
    (void)!getrandom(&chance, sizeof(chance), 0);
    snprintf(options->socket_name, sizeof(options->socket_name), "rhinet-cache-%d-%016llx",
             getpid(), (unsigned long long)chance);
    memcpy(options->control->socket_name, options->socket_name, sizeof(options->socket_name));
}

static void *make_memory(const char *name, uint64_t length, int *fd)
{
    struct memory_shape shape = {.name = name, .length = length};
    *fd = memory_create(&shape);
    if (*fd < 0)
        return NULL;
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (memory != MAP_FAILED)
        return memory;
    close(*fd);
    *fd = error_fail(RH_ENOSPACE, "cannot map the cache's control memory: %s", strerror(errno));
    return NULL;
}

static int make_control(struct agent_options *options)
{
    struct cache_shape shape;
    int result = node_shape(&options->node, &shape);
    if (result < 0)
        return result;
    struct cache_control *control = make_memory(SETUP_MEMORY_NAME, shape.control_length,
                                                &options->control_fd);
    if (!control)
        return options->control_fd;
    control->shape = shape;
    control->start_ns = clock_now_ns();
    control->version = CACHE_VERSION;
    control->magic = CACHE_MAGIC;
    options->control = control;
    name_socket(options);
    return 0;
}

/* What clients believe; from the seal on, only this mapping and those of our children write it. */
static int make_card(struct agent_options *options, const struct settings *settings)
{
    struct cache_card *card = make_memory(SETUP_CARD_NAME, sizeof(*card), &options->card_fd);
    if (!card)
        return options->card_fd;
    memory_seal_read_only(options->card_fd);
    uint32_t ahead_max = options->control->shape.chunk_count / AHEAD_PART;
    card->settle_ns = (int64_t)setting_number(settings, SETTING_CACHE_SETTLE);
    card->patience_ns = options->node.patience_ns;
    card->ahead_max = (uint32_t)setting_number(settings, SETTING_CACHE_AHEAD);
    if (card->ahead_max > ahead_max)
        card->ahead_max = ahead_max;
    card->pid_namespace = raw_namespace("/proc/self/ns/pid");
    card->magic = CACHE_MAGIC;
    options->card = card;
    int result = add_paths(&options->mounts, setting_text(settings, SETTING_CACHE_PATH));
    card->path_count = options->mounts.path_count;
    memcpy(card->path, options->mounts.path, sizeof(card->path));
    if (result == 0)
        result = agent_declare(card, setting_text(settings, SETTING_CACHE_IMMUTABLE));
    return result;
}

int setup_agent(struct agent_options *options, const struct settings *settings)
{
    int result = read_settings(settings, options);
    if (result == 0)
        result = make_control(options);
    return result < 0 ? result : make_card(options, settings);
}

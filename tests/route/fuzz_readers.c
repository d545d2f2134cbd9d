/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzzes every reader of a file: the first byte chooses which. With FUZZ_REPLAY it is a program
 * that runs over the files of a folder instead, so that the corpus is tested everywhere.
 */
#include "route/check/check.h"
#include "route/formats/formats.h"
#include "route/tables/memo.h"
#include "route/traffic/traffic.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*parser)(struct fabric *fabric, struct lines *source);

static void fabric_try(parser parse, const uint8_t *data, size_t size)
{
    struct lines source;
    struct fabric *fabric;
    if (lines_from(&source, "fuzz", data, size) < 0)
        return;
    if (!parse) {
        if (formats_fabric_parse(&fabric, &source) == 0)
            fabric_destroy(fabric);
    } else if (fabric_create(&fabric) == 0) {
        if (parse(fabric, &source) == 0)
            fabric_lids_assign(fabric);
        fabric_destroy(fabric);
    }
    lines_close(&source);
}

/* Readers of files that belong to a fabric. */
static void beside_try(const struct net *net, uint32_t which, struct lines *source)
{
    struct lft_dump dump;
    struct check_report report;
    struct check_options options = {.lanes = CHECK_LANE_PER_HOP};
    struct traffic *traffic = NULL;
    struct memo *memo;
    if (which == 5 && lft_dump_parse(&dump, net->fabric, source) == 0)
        lft_dump_free(&dump);
    else if (which == 6 && memo_parse(&memo, net, source) == 0)
        memo_destroy(memo);
    else if (which == 7)
        check_paths(net->fabric, source, &options, &report);
    else if (which == 8)
        traffic_matrix_parse(&traffic, net, source);
    else if (which == 9)
        traffic_counters_parse(&traffic, net, source);
    traffic_destroy(traffic);
}

static void fabric_with_try(uint32_t which, const uint8_t *data, size_t size)
{
    static const char text[] = "s1 s2\ns2 s3\nhosts s1 2\nhosts s2 2\n";
    struct lines source, beside;
    struct fabric *fabric = NULL;
    struct net *net = NULL;
    lines_from(&source, "fabric", text, strlen(text));
    if (formats_fabric_parse(&fabric, &source) == 0) {
        fabric_lids_assign(fabric);
        if (net_create(&net, fabric) == 0 && lines_from(&beside, "fuzz", data, size) == 0) {
            beside_try(net, which, &beside);
            lines_close(&beside);
        }
        net_destroy(net);
        fabric_destroy(fabric);
    }
    lines_close(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const parser parsers[] = {NULL, formats_ibnet_parse, formats_lst_parse,
                                     formats_topo_parse, formats_edges_parse};
    if (size == 0)
        return 0;
    uint32_t which = (uint8_t)(data[0] - '0') % 10;
    if (which >= 5)
        fabric_with_try(which, data + 1, size - 1);
    else
        fabric_try(parsers[which], data + 1, size - 1);
    return 0;
}

#ifdef FUZZ_REPLAY
#include <dirent.h>
#include <stdio.h>

static int file_replay(const char *path)
{
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "re");
    if (!file)
        return 1;
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    /* as it is, and cut short at many places */
    for (size_t length = size; length > 0; length -= length > 97 ? 97 : length)
        LLVMFuzzerTestOneInput(bytes, length);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, count = 0;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        failed += file_replay(path);
        count++;
    }
    if (folder)
        closedir(folder);
    printf("1..1\n%s 1 - %d files replayed\n", failed || count == 0 ? "not ok" : "ok", count);
    return failed || count == 0;
}
#endif

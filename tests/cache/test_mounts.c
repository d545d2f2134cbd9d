/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which file systems are one for all hosts, which are each host's own, and which are not cached at
 * all; as /proc/self/mountinfo shows them.
 */
#include "cache/files/mounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HERE  41u /* device numbers */
#define THERE 42u

static uint64_t number_of(const char *rest, uint64_t device)
{
    char text[512];
    static struct mounts_line line;
    snprintf(text, sizeof(text), "36 35 0:41 / /data rw,relatime shared:1 - %s\n", rest);
    assert_true(mounts_parse(text, &line));
    return mounts_number(&line, device);
}

static void shared_by_server(void **state)
{
    (void)state;
    static const char *const shared[] = {"nfs server:/a rw,addr=10.0.0.1",
                                         "nfs4 server:/a rw,vers=4.2",
                                         "lustre mgs@tcp:/scratch rw",
                                         "gpfs fs0 rw",
                                         "ceph 10.0.0.1:6789:/ rw,name=admin",
                                         "beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/a.conf",
                                         "fuse.glusterfs server:/volume rw",
                                         "orangefs tcp://server:3334/fs rw",
                                         "panfs panfs://realm/ rw",
                                         "wekafs backend/default rw"};
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        assert_int_not_equal(number_of(shared[i], HERE), 0);
        assert_int_equal(number_of(shared[i], HERE), number_of(shared[i], THERE));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(number_of(shared[i], HERE), number_of(shared[k], HERE));
    }
}

static void told_apart_by_options(void **state)
{
    (void)state;
    assert_int_not_equal(number_of("ceph mon:/ rw,mds_namespace=a", HERE),
                         number_of("ceph mon:/ rw,mds_namespace=b", HERE));
    assert_int_not_equal(number_of("beegfs beegfs_nodev cfgFile=/a,rw", HERE),
                         number_of("beegfs beegfs_nodev cfgFile=/b,rw", HERE));
    /* Others differ between clients of the same. */
    assert_int_equal(number_of("nfs server:/a rw,clientaddr=10.0.0.1", HERE),
                     number_of("nfs server:/a ro,clientaddr=10.0.0.2", HERE));
}

static void of_one_host(void **state)
{
    (void)state;
    static const char *const local[] = {"ext4 /dev/vda rw", "xfs /dev/sdb1 rw", "tmpfs tmpfs rw",
                                        "gfs2 /dev/sdb rw", "ocfs2 /dev/sdb rw"};
    static const char *const own_server[] = {"nfs4 127.0.0.1:/ rw,port=20049",
                                             "nfs localhost:/a rw", "nfs [::1]:/a rw"};
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        assert_int_not_equal(number_of(local[i], HERE), 0);
        assert_int_not_equal(number_of(local[i], HERE), number_of(local[i], THERE));
    }
    for (size_t i = 0; i < sizeof(own_server) / sizeof(own_server[0]); i++)
        assert_int_not_equal(number_of(own_server[i], HERE), number_of(own_server[i], THERE));
    assert_int_not_equal(mounts_number(NULL, HERE), mounts_number(NULL, THERE));
}

static void not_cached(void **state)
{
    (void)state;
    static const char *const unnumbered[] = {
        "fuse.sshfs u@h:/d rw", "fuse.s3fs s3fs rw",  "fuse.juicefs JuiceFS:a rw",
        "fuse.ceph-fuse c rw",  "fuse.cvmfs2 c rw",   "fuse portal rw",
        "fuseblk /dev/sda1 rw", "cifs //server/a rw", "smb3 //server/a rw",
        "9p share rw",          "virtiofs share rw",  "fuse.anything source rw"};
    for (size_t i = 0; i < sizeof(unnumbered) / sizeof(unnumbered[0]); i++)
        assert_int_equal(number_of(unnumbered[i], HERE), 0);
}

static void lines(void **state)
{
    (void)state;
    struct mounts_line *line = malloc(sizeof(*line));
    assert_true(mounts_parse("36 35 98:0 /a\\040b /mnt/c\\011d rw - ext4 /dev/x\\134y rw\n", line));
    assert_string_equal(line->root, "/a b");
    assert_string_equal(line->point, "/mnt/c\td");
    assert_string_equal(line->source, "/dev/x\\y");
    assert_true(mounts_parse("36 35 98:0 / /mnt rw - proc proc\n", line));
    assert_string_equal(line->options, "");
    assert_false(mounts_parse("36 35 98:0 / /mnt rw ext4 /dev/x rw\n", line));
    assert_false(mounts_parse("36 35 - ext4\n", line));
    free(line);
}

/* The table of what is really mounted here. */
static void table(void **state)
{
    (void)state;
    struct mounts *mounts = calloc(1, sizeof(*mounts));
    struct cache_card *card = aligned_alloc(64, sizeof(*card));
    memset(card, 0, sizeof(*card));
    uint64_t number = 0;
    struct stat status;
    assert_int_equal(stat("/proc", &status), 0);
    assert_int_equal(mounts_path_add(mounts, "/proc"), 0);
    assert_int_not_equal(mounts_path_add(mounts, "/does/not/exist"), 0);
    mounts_refresh(mounts, card);
    mounts_refresh(mounts, card);
    assert_true(mounts_find(mounts, status.st_dev, &number));
    assert_int_equal(card->device[0].file_system != 0, 1);
    assert_false(mounts_find(mounts, 0xfffffff, &number));
    for (int i = 1; i < CACHE_PATHS_MAX; i++)
        assert_int_equal(mounts_path_add(mounts, "/proc"), 0);
    assert_int_not_equal(mounts_path_add(mounts, "/proc"), 0);
    mounts_close(mounts);
    assert_false(mounts_find(mounts, status.st_dev, &number));
    free(card);
    free(mounts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_by_server),
                                       cmocka_unit_test(told_apart_by_options),
                                       cmocka_unit_test(of_one_host),
                                       cmocka_unit_test(not_cached),
                                       cmocka_unit_test(lines),
                                       cmocka_unit_test(table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

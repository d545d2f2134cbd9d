/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many cores we may use: never those of the machine, but what taskset and the quotas of control
 * groups, of either version and of all parents, leave.
 */
#include "base/cores.h"
#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/rhinet-cores-XXXXXX";
static char list[sizeof(root) + 8];

static void write_file(const char *path, const char *text)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *slash = whole + sizeof(root); (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static unsigned quota_of(const char *groups)
{
    write_file("list", groups);
    struct control_group_tree tree = {.list = list, .root = root};
    return cores_of_quota(&tree);
}

static int make_tree(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    snprintf(list, sizeof(list), "%s/list", root);
    write_file("job/cpu.max", "350000 100000\n");
    write_file("job/step/cpu.max", "max 100000\n");
    write_file("job/step/small/cpu.max", "50000 100000\n");
    write_file("job/whole/cpu.max", "200000 100000\n");
    write_file("odd/cpu.max", "nonsense\n");
    write_file("half/cpu.max", "7000 0\n");
    write_file("cpu/old/cpu.cfs_quota_us", "250000\n");
    write_file("cpu/old/cpu.cfs_period_us", "50000\n");
    write_file("cpu/old/free/cpu.cfs_quota_us", "-1\n");
    write_file("cpu/old/free/cpu.cfs_period_us", "100000\n");
    write_file("cpu/odd/cpu.cfs_quota_us", "250000\n");
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    char command[sizeof(root) + 16];
    snprintf(command, sizeof(command), "rm -r %s", root);
    FILE *shell = popen(command, "re");
    return shell ? pclose(shell) : -1;
}

static void test_quota(void **state)
{
    (void)state;
    static const struct {
        const char *groups;
        unsigned cores;
    } cases[] = {
        {"0::/\n", UINT_MAX},
        {"0::/job\n", 4}, /* three and a half */
        {"0::/job/step\n", 4},
        {"0::/job/step/small\n", 1},
        {"0::/job/whole\n", 2},
        {"0::/odd\n", UINT_MAX},
        {"0::/half\n", UINT_MAX},
        {"0::/no/such/group\n", UINT_MAX},
        {"1:cpu:/old\n", 5},
        {"2:cpuacct,cpu:/old/free\n0::/\n", 5},
        {"2:cpu,cpuacct:/old\n0::/job/whole\n", 2},
        {"3:cpuset:/old\n", UINT_MAX},
        {"1:cpu:/odd\n", UINT_MAX},
        {"nonsense\n", UINT_MAX},
        {"", UINT_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        unsigned cores = quota_of(cases[i].groups);
        if (cores != cases[i].cores)
            fail_msg("%s gives %u cores, not %u", cases[i].groups, cores, cases[i].cores);
    }
}

static void test_affinity(void **state)
{
    (void)state;
    struct core_set before;
    struct core_set now;
    assert_int_equal(cores_of(0, &before), 0);
    unsigned count = (unsigned)CPU_COUNT_S(sizeof(before), before.part);
    unsigned quota = cores_of_quota(&control_group_tree);
    assert_int_equal(cores_allowed(), quota < count ? quota : count);
    for (size_t core = 0, seen = 0; seen < count; core++) {
        if (!CPU_ISSET_S(core, sizeof(before), before.part))
            continue;
        seen++;
        memset(&now, 0, sizeof(now));
        CPU_SET_S(core, sizeof(now), now.part);
        assert_int_equal(sched_setaffinity(0, sizeof(now), now.part), 0);
        assert_int_equal(cores_allowed(), 1);
        assert_int_equal(cores_of(getpid(), &now), 0);
        assert_true(CPU_ISSET_S(core, sizeof(now), now.part));
    }
    assert_int_equal(sched_setaffinity(0, sizeof(before), before.part), 0);
    assert_true(cores_of(-5, &now) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_affinity),
    };
    return cmocka_run_group_tests_name("cores", tests, make_tree, remove_tree);
}

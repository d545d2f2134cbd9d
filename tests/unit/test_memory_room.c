/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory that is reserved and sealed before anyone touches it, or refused with the sizes.
 */
#include "base/error.h"
#include "base/memory_room.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_create(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 4095, 4096, 4097, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct memory_shape shape = {.name = "unit", .length = lengths[i]};
        int fd = memory_create(&shape);
        assert_true(fd >= 0);
        uint64_t length = 0;
        assert_true(memory_is_sealed(fd, &length));
        assert_true(length >= lengths[i]);
        assert_true(length < lengths[i] + 4096);
        struct stat status;
        assert_int_equal(fstat(fd, &status), 0);
        assert_true((uint64_t)status.st_blocks * 512 >= lengths[i]); /* the pages are there */
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(ftruncate(fd, 0), -1);
        assert_int_equal(errno, EPERM);
        assert_int_equal(ftruncate(fd, 1 << 30), -1);
        unsigned char *bytes = mmap(NULL, lengths[i], PROT_READ, MAP_SHARED, fd, 0);
        assert_ptr_not_equal(bytes, MAP_FAILED);
        for (uint64_t k = 0; k < lengths[i]; k++)
            assert_int_equal(bytes[k], 0);
        munmap(bytes, lengths[i]);
        close(fd);
    }
}

static void test_too_much(void **state)
{
    (void)state;
    const char *limit;
    uint64_t room = memory_room(&limit);
    assert_true(room > 0);
    assert_true(strlen(limit) > 0);
    const uint64_t lengths[] = {room + (64 << 20), 1ULL << 50, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct memory_shape shape = {.name = "too much", .length = lengths[i]};
        assert_int_equal(memory_create(&shape), RH_ENOSPACE);
        assert_non_null(strstr(rh_error_text(), "too much needs"));
        assert_non_null(strstr(rh_error_text(), "KiB"));
    }
}

static void test_not_sealed(void **state)
{
    (void)state;
    uint64_t length = 77;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int half = memfd_create("half", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int empty = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int folder = open("/", O_RDONLY | O_CLOEXEC);
    int device = open("/dev/zero", O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(plain, 4096), 0);
    assert_int_equal(ftruncate(half, 4096), 0);
    assert_int_equal(fcntl(half, F_ADD_SEALS, F_SEAL_GROW), 0);
    assert_int_equal(fcntl(empty, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
    const int fds[] = {plain, half, empty, folder, device, pipes[0], -1};
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        if (memory_is_sealed(fds[i], &length))
            fail_msg("case %zu passes as sealed memory", i);
        assert_true(length == 77);
    }
    for (size_t i = 0; i + 1 < COUNT_OF(fds); i++)
        close(fds[i]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_not_sealed),
    };
    return cmocka_run_group_tests_name("memory_room", tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel's interfaces for write tracking, for headers that are older than the kernel we may run
 * on. Numbers and layouts are the kernel's ABI.
 */
#pragma once

#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <stdint.h>

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#define CONTINUE_MODE_WP ((uint64_t)1 << 1) /* UFFDIO_CONTINUE_MODE_WP, an enum in some headers */

#ifndef PAGEMAP_SCAN
#define PAGE_IS_WRITTEN (1 << 1)

struct page_region {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
};

#define PM_SCAN_WP_MATCHING   (1 << 0)
#define PM_SCAN_CHECK_WPASYNC (1 << 1)

struct pm_scan_arg {
    uint64_t size;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end;
    uint64_t vec;
    uint64_t vec_len;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
};

#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel's part of a simulated node (5.3 of the thesis): who may use the controller, and for
 * which memory. The chip trusts PGIDTBL, the page table and registered headers; all three are
 * written only here.
 *
 * A job's process is registered by a task manager, through a device file that only its user may
 * open: job, number, windows. The process then opens the other device file, and gets exactly the
 * windows that were entered for it. Memory is pinned and entered into the NIC's page table in one
 * step, and leaves the table before it is unpinned. Closing, which a kernel also does for a process
 * that has died, takes everything back.
 */
#pragma once

#include "sim/chip/chip.h"

struct driver;

/* -ENOMEM. */
int driver_create(struct driver **driver, struct chip *chip);
void driver_destroy(struct driver *driver);

/* What a task manager enters for a task (a process of the operating system, by its number). */
#define DRIVER_ANY_WINDOW UINT32_MAX
struct driver_entry {
    uint32_t task;
    uint16_t pgid, pid;
    uint32_t window_first, window_count; /* DRIVER_ANY_WINDOW: the driver chooses */
};

/* Who opens a device file. */
struct driver_caller {
    uint32_t task;
    bool is_manager; /* its user may open the managers' device */
};
enum driver_device { DRIVER_DEVICE_MANAGER, DRIVER_DEVICE_USER };

/* Returns the file's number, or -EACCES: not for this caller (the managers' device for others; the
 * users' for a task that no manager has entered); -EBUSY: the task has it open; -ENOMEM. */
int driver_open(struct driver *driver, enum driver_device device,
                const struct driver_caller *caller);
void driver_close(struct driver *driver, int file);

/* On the managers' device. *entry tells the windows that were chosen. -EPERM: not that device;
 * -EEXIST: the task, or this process of the job, is entered; -EBUSY: a window has an owner, or not
 * enough are free; -EINVAL: no such windows. */
int driver_enter(struct driver *driver, int file, struct driver_entry *entry);

/* All below on the users' device; -EPERM on the other. */

/* Maps the task's windows; contflag of window i (of the task's) goes to physical + i * stride. */
int driver_map(struct driver *driver, int file, uint64_t physical, uint64_t stride);

/* A range of whole pages. -ENOMEM; -EEXIST: a page of it is pinned. */
struct driver_range {
    uint64_t virtual, physical, length;
};
int driver_pin(struct driver *driver, int file, const struct driver_range *range);
/* As it was pinned. -ENOENT. Transfers that have begun go on: chip_touches() tells. */
int driver_unpin(struct driver *driver, int file, const struct driver_range *range);
bool driver_is_pinned(const struct driver *driver, int file, uint64_t virtual);

/* A header for stores to an AOTF page, checked: it must be a push of a word, for the own job and
 * from the own process (-EACCES), and the page must not be another's (-EBUSY). */
int driver_header(struct driver *driver, int file, uint32_t page, const struct chip_header *header);

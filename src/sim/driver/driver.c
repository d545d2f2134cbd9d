/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See driver.h.
 */
#include "sim/driver/driver.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE 4096ULL

/* An open device file; a user's one is all that the driver knows of a process. */
struct file {
    bool is_open, is_manager;
    bool is_entered; /* by a manager; its task may open it */
    struct driver_entry entry;
    struct driver_range *ranges; /* pinned */
    uint32_t range_count;
    size_t range_room;
};

struct driver {
    struct chip *chip;
    struct file *files; /* those of users first: entered once, opened later */
    uint32_t file_count;
    size_t file_room;
    bool has_owner[CHIP_WINDOWS];
    uint32_t header_owner[CHIP_AOTF_PAGES]; /* file + 1; 0: nobody's */
};

int driver_create(struct driver **driver, struct chip *chip)
{
    struct driver *made = calloc(1, sizeof(*made));
    if (!made)
        return error_fail(-ENOMEM, "no memory for the driver of node %u", chip_number(chip));
    made->chip = chip;
    *driver = made;
    return 0;
}

void driver_destroy(struct driver *driver)
{
    if (!driver)
        return;
    for (uint32_t i = 0; i < driver->file_count; i++)
        free(driver->files[i].ranges);
    free(driver->files);
    free(driver);
}

/* A place for a file; NULL when memory is out. */
static struct file *file_make(struct driver *driver)
{
    for (uint32_t i = 0; i < driver->file_count; i++) {
        if (!driver->files[i].is_open && !driver->files[i].is_entered)
            return &driver->files[i];
    }
    if (!array_grow(&driver->files, &driver->file_room, (size_t)driver->file_count + 1)) {
        error_fail(-ENOMEM, "no memory for a device file");
        return NULL;
    }
    driver->files[driver->file_count] = (struct file){0};
    return &driver->files[driver->file_count++];
}

static struct file *entered_find(const struct driver *driver, uint32_t task)
{
    for (uint32_t i = 0; i < driver->file_count; i++) {
        if (driver->files[i].is_entered && driver->files[i].entry.task == task)
            return &driver->files[i];
    }
    return NULL;
}

int driver_open(struct driver *driver, enum driver_device device,
                const struct driver_caller *caller)
{
    struct file *file;
    if (device == DRIVER_DEVICE_MANAGER) {
        if (!caller->is_manager)
            return error_fail(-EACCES, "task %u is no task manager: that device is not for it",
                              caller->task);
        file = file_make(driver);
        if (!file)
            return -ENOMEM;
        *file = (struct file){.is_manager = true};
    } else {
        file = entered_find(driver, caller->task);
        if (!file)
            return error_fail(-EACCES, "task %u was not entered by a task manager", caller->task);
        if (file->is_open)
            return error_fail(-EBUSY, "task %u has the device open", caller->task);
    }
    file->is_open = true;
    return (int)(file - driver->files);
}

/* So many windows in a row that nobody has; CHIP_WINDOWS: there are none. */
static uint32_t windows_find(const struct driver *driver, uint32_t count)
{
    uint32_t free_count = 0;
    for (uint32_t i = 0; i < CHIP_WINDOWS; i++) {
        free_count = driver->has_owner[i] ? 0 : free_count + 1;
        if (free_count == count)
            return i + 1 - count;
    }
    return count == 0 ? 0 : CHIP_WINDOWS;
}

static int windows_choose(const struct driver *driver, struct driver_entry *entry)
{
    uint32_t count = entry->window_count;
    if (entry->window_first == DRIVER_ANY_WINDOW) {
        entry->window_first = windows_find(driver, count);
        if (entry->window_first == CHIP_WINDOWS)
            return error_fail(-EBUSY, "node %u has no %u free windows in a row",
                              chip_number(driver->chip), count);
    }
    if (entry->window_first > CHIP_WINDOWS || count > CHIP_WINDOWS - entry->window_first)
        return error_fail(-EINVAL, "windows %u to %u: a node has %d", entry->window_first,
                          entry->window_first + count - 1, CHIP_WINDOWS);
    for (uint32_t i = 0; i < count; i++) {
        if (driver->has_owner[entry->window_first + i])
            return error_fail(-EBUSY, "window %u has an owner", entry->window_first + i);
    }
    return 0;
}

int driver_enter(struct driver *driver, int file, struct driver_entry *entry)
{
    if (!driver->files[file].is_manager)
        return error_fail(-EPERM, "only a task manager enters processes");
    for (uint32_t i = 0; i < driver->file_count; i++) {
        const struct driver_entry *other = &driver->files[i].entry;
        bool is_same = other->task == entry->task ||
                       (other->pgid == entry->pgid && other->pid == entry->pid);
        if (driver->files[i].is_entered && is_same)
            return error_fail(-EEXIST, "process %u of job %u is entered as task %u", other->pid,
                              other->pgid, other->task);
    }
    int result = windows_choose(driver, entry);
    struct file *made = result == 0 ? file_make(driver) : NULL;
    if (!made)
        return result < 0 ? result : -ENOMEM;
    *made = (struct file){.is_entered = true, .entry = *entry};
    for (uint32_t i = 0; i < entry->window_count; i++) {
        driver->has_owner[entry->window_first + i] = true;
        chip_window_set(driver->chip, entry->window_first + i, entry->pgid, entry->pid);
    }
    return 0;
}

static struct file *user_file(const struct driver *driver, int file)
{
    struct file *found = &driver->files[file];
    if (found->is_entered && found->is_open)
        return found;
    error_fail(-EPERM, "only an entered process does this, on its own device");
    return NULL;
}

int driver_map(struct driver *driver, int file, uint64_t physical, uint64_t stride)
{
    const struct file *user = user_file(driver, file);
    if (!user)
        return -EPERM;
    for (uint32_t i = 0; i < user->entry.window_count; i++)
        chip_contflag_set(driver->chip, user->entry.window_first + i, physical + i * stride);
    return 0;
}

static struct driver_range *range_find(const struct file *user, uint64_t virtual, uint64_t length)
{
    for (uint32_t i = 0; i < user->range_count; i++) {
        const struct driver_range *range = &user->ranges[i];
        if (range->virtual < virtual + length && virtual < range->virtual + range->length)
            return &user->ranges[i];
    }
    return NULL;
}

/* The chip first: nothing may be in its tables that is not pinned. */
static void range_forget(struct driver *driver, const struct file *user,
                         const struct driver_range *range)
{
    for (uint64_t at = 0; at < range->length; at += PAGE) {
        struct chip_page page = {user->entry.pgid, user->entry.pid, (range->virtual + at) / PAGE,
                                 0};
        chip_page_unpin(driver->chip, &page);
    }
}

int driver_pin(struct driver *driver, int file, const struct driver_range *range)
{
    struct file *user = user_file(driver, file);
    if (!user)
        return -EPERM;
    if (range_find(user, range->virtual, range->length))
        return error_fail(-EEXIST, "a page of %llu bytes at %llx is pinned",
                          (unsigned long long)range->length, (unsigned long long)range->virtual);
    if (!array_grow(&user->ranges, &user->range_room, (size_t)user->range_count + 1))
        return error_fail(-ENOMEM, "no memory for %u pinned ranges", user->range_count + 1);
    for (uint64_t at = 0; at < range->length; at += PAGE) {
        struct chip_page page = {user->entry.pgid, user->entry.pid, (range->virtual + at) / PAGE,
                                 (range->physical + at) / PAGE};
        int result = chip_page_pin(driver->chip, &page);
        if (result < 0) {
            range_forget(driver, user, range);
            return result;
        }
    }
    user->ranges[user->range_count++] = *range;
    return 0;
}

int driver_unpin(struct driver *driver, int file, const struct driver_range *range)
{
    struct file *user = user_file(driver, file);
    if (!user)
        return -EPERM;
    struct driver_range *found = range_find(user, range->virtual, range->length);
    if (!found || found->virtual != range->virtual || found->length != range->length)
        return error_fail(-ENOENT, "%llu bytes at %llx were not pinned together",
                          (unsigned long long)range->length, (unsigned long long)range->virtual);
    range_forget(driver, user, range);
    *found = user->ranges[--user->range_count];
    return 0;
}

bool driver_is_pinned(const struct driver *driver, int file, uint64_t virtual)
{
    const struct file *user = user_file(driver, file);
    return user && range_find(user, virtual, 1);
}

int driver_header(struct driver *driver, int file, uint32_t page, const struct chip_header *header)
{
    const struct file *user = user_file(driver, file);
    if (!user)
        return -EPERM;
    if (page >= CHIP_AOTF_PAGES)
        return error_fail(-EINVAL, "AOTF page %u: a node has %d", page, CHIP_AOTF_PAGES);
    if (driver->header_owner[page] && driver->header_owner[page] != (uint32_t)file + 1)
        return error_fail(-EBUSY, "AOTF page %u is another process's", page);
    if (header->type != CHIP_PACKET_PUSH || header->length != sizeof(uint64_t) ||
        header->pgid != user->entry.pgid || header->source_pid != user->entry.pid)
        return error_fail(
            -EACCES,
            "a header for AOTF is that of a push of one word, from the process itself to its own "
            "job");
    driver->header_owner[page] = (uint32_t)file + 1;
    chip_aotf_register(driver->chip, page, header);
    return 0;
}

void driver_close(struct driver *driver, int file)
{
    struct file *closed = &driver->files[file];
    for (uint32_t i = 0; closed->is_entered && i < closed->entry.window_count; i++) {
        chip_window_clear(driver->chip, closed->entry.window_first + i);
        driver->has_owner[closed->entry.window_first + i] = false;
    }
    for (uint32_t i = 0; i < CHIP_AOTF_PAGES; i++) {
        if (driver->header_owner[i] != (uint32_t)file + 1)
            continue;
        chip_aotf_forget(driver->chip, i);
        driver->header_owner[i] = 0;
    }
    for (uint32_t i = 0; i < closed->range_count; i++)
        range_forget(driver, closed, &closed->ranges[i]);
    if (closed->is_entered)
        chip_process_ended(driver->chip, closed->entry.pgid, closed->entry.pid);
    free(closed->ranges);
    *closed = (struct file){0};
}

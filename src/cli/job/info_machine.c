/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The facts of this machine that matter to rhinet, found by trying where trying is possible.
 */
#include "base/cores.h"
#include "base/memory_room.h"
#include "base/text.h"
#include "cli/job/info.h"
#include "cli/json_put.h"
#include "cli/table.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* The value after "key:" or "key :" in a file of /proc, without its unit; "" if it is not there. */
static void proc_value(const char *path, const char *key, char *value, size_t room)
{
    char line[512];
    value[0] = '\0';
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0)
            continue;
        char *start = colon + 1 + strspn(colon + 1, " \t");
        start[strcspn(start, "\n")] = '\0';
        snprintf(value, room, "%s", start);
        break;
    }
    if (file)
        fclose(file);
}

static uint64_t memory_value(const char *key)
{
    char text[64];
    uint64_t value = 0;
    proc_value("/proc/meminfo", key, text, sizeof(text));
    char *unit = strchr(text, ' ');
    if (unit)
        *unit = '\0';
    if (!text_to_u64(text, &value))
        return 0;
    return unit ? value * 1024 : value; /* the unit is always kB */
}

/* A child reads its parent: to the kernel the same as one rank that reads another, since neither
 * descends from the other. Returns 0 or the errno that the child met. */
static int cma_try(void)
{
    uint64_t word = 42;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0)
        return errno;
    if (child == 0) {
        uint64_t copy = 0;
        struct iovec local = {&copy, sizeof(copy)};
        struct iovec remote = {&word, sizeof(word)};
        ssize_t got = process_vm_readv(parent, &local, 1, &remote, 1, 0);
        _exit(got == (ssize_t)sizeof(copy) ? 0 : errno);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int ptrace_scope(void)
{
    int scope = -1;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file) {
        int found = fgetc(file);
        if (found >= '0' && found <= '9')
            scope = found - '0';
        fclose(file);
    }
    return scope;
}

static bool membarrier_there(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands >= 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
}

void machine_read(struct machine *machine)
{
    memset(machine, 0, sizeof(*machine));
    struct utsname name;
    if (uname(&name) == 0)
        snprintf(machine->system, sizeof(machine->system), "%.64s %.64s %.64s", name.sysname,
                 name.release, name.machine);
    proc_value("/proc/cpuinfo", "model name", machine->processor, sizeof(machine->processor));
    machine->cores_usable = (int)cores_allowed();
    machine->cores_online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    machine->memory_total = memory_value("MemTotal");
    machine->memory_room = memory_room(&machine->memory_limit);
    machine->huge_page_size = memory_value("Hugepagesize");
    machine->huge_pages_total = memory_value("HugePages_Total");
    machine->huge_pages_free = memory_value("HugePages_Free");
    machine->cma_error = cma_try();
    machine->ptrace_scope = ptrace_scope();
    machine->membarrier = membarrier_there();
}

static void row(struct table *table, const char *name)
{
    table_cell(table, "%s", "");
    table_cell(table, "%s", name);
}

static void row_huge_pages(struct table *table, const struct machine *machine)
{
    char size[UNIT_TEXT_MAX];
    unit_bytes(size, (double)machine->huge_page_size);
    row(table, "huge pages");
    if (machine->huge_pages_total == 0)
        table_cell(table, "none reserved; sysctl vm.nr_hugepages=N reserves N of %s", size);
    else
        table_cell(table, "%llu free of %llu, %s each",
                   (unsigned long long)machine->huge_pages_free,
                   (unsigned long long)machine->huge_pages_total, size);
}

static void row_cma(struct table *table, const struct machine *machine)
{
    char yama[64] = "";
    if (machine->ptrace_scope > 0)
        snprintf(yama, sizeof(yama), ", kernel.yama.ptrace_scope is %d", machine->ptrace_scope);
    row(table, "cross-memory attach");
    if (machine->cma_error == 0)
        table_cell(table, "permitted");
    else
        table_cell(table,
                   "refused (%s%s); attached memory moves through its owner's service thread",
                   strerrordesc_np(machine->cma_error), yama);
}

void machine_print(FILE *out, const struct machine *machine)
{
    static const struct table_column columns[] = {
        {.title = NULL}, {.title = NULL}, {.title = NULL}};
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    char total[UNIT_TEXT_MAX], room[UNIT_TEXT_MAX];
    row(table, "system");
    table_cell(table, "%s", machine->system);
    row(table, "processor");
    table_cell(table, "%s", machine->processor[0] ? machine->processor : "unknown");
    row(table, "cores");
    table_cell(table, "%d usable of %d", machine->cores_usable, machine->cores_online);
    row(table, "memory");
    table_cell(table, "%s, of which a job can take %s (%s)",
               unit_bytes(total, (double)machine->memory_total),
               unit_bytes(room, (double)machine->memory_room), machine->memory_limit);
    row_huge_pages(table, machine);
    row_cma(table, machine);
    row(table, "membarrier");
    table_cell(table, "%s", machine->membarrier ? "there" : "missing; every push pays a fence");
    table_print(table, out, terminal_width());
    table_destroy(table);
}

json_t *machine_json(const struct machine *machine)
{
    json_t *huge = json_object();
    json_put_number(huge, "size", machine->huge_page_size);
    json_put_number(huge, "total", machine->huge_pages_total);
    json_put_number(huge, "free", machine->huge_pages_free);
    json_t *object = json_object();
    json_put_text(object, "system", machine->system);
    json_put_text(object, "processor", machine->processor);
    json_put_number(object, "cores_usable", (uint64_t)machine->cores_usable);
    json_put_number(object, "cores_online", (uint64_t)machine->cores_online);
    json_put_number(object, "memory_total", machine->memory_total);
    json_put_number(object, "memory_room", machine->memory_room);
    json_put_text(object, "memory_limit", machine->memory_limit);
    json_object_set_new(object, "huge_pages", huge);
    json_put_flag(object, "cma_permitted", machine->cma_error == 0);
    json_put_flag(object, "membarrier", machine->membarrier);
    return object;
}

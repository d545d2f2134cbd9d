/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See hosts.h.
 */
#include "cli/run/hosts.h"

#include "base/array.h"
#include "base/error.h"
#include "base/lines.h"
#include "base/text.h"
#include "cli/cli.h"
#include "job/job_layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES_MAX 65536

static int no_memory(void)
{
    cli_say("no memory for the list of hosts");
    return LAUNCH_STATUS_FAILED;
}

static struct launch_host *find_host(struct run_hosts *hosts, const char *name)
{
    for (int i = 0; i < hosts->launch.count; i++) {
        if (strcmp(hosts->launch.host[i].name, name) == 0)
            return &hosts->launch.host[i];
    }
    return NULL;
}

/* A host that is named twice takes more. */
static int add_host(struct run_hosts *hosts, const char *name, int places)
{
    struct launch_host *host = find_host(hosts, name);
    if (host) {
        host->places = (host->places ? host->places : 1) + (places ? places : 1);
        return 0;
    }
    struct launch_hosts *list = &hosts->launch;
    if (!array_grow(&list->host, &hosts->host_room, (size_t)list->count + 1))
        return no_memory();
    host = &list->host[list->count++];
    *host = (struct launch_host){.places = places};
    snprintf(host->name, sizeof(host->name), "%s", name);
    return 0;
}

/* No name may look like an option to the remote shell, nor be more than a name to a shell. */
static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  ".-_@";
    struct launch_host host;
    return text[0] && text[0] != '-' && strlen(text) < sizeof(host.name) &&
           text[strspn(text, allowed)] == '\0';
}

static int add_one(struct run_hosts *hosts, const char *option, char *name, const char *count)
{
    uint64_t places = 0;
    char own[sizeof(((struct launch_host *)0)->name)] = "";
    if (!is_name(name))
        return cli_usage_error("%s: \"%s\" is no name of a host", option, name);
    if (count && (!text_to_u64(count, &places) || places < 1 || places > PLACES_MAX))
        return cli_usage_error("%s: \"%s\" processes on host %s: a number is expected", option,
                               count, name);
    gethostname(own, sizeof(own) - 1);
    /* One name for it, and one that others understand. */
    return add_host(hosts, launch_is_this_host(name) ? own : name, (int)places);
}

int run_hosts_add(struct run_hosts *hosts, const char *list)
{
    char *copy = strdup(list);
    char *rest = copy;
    char *name;
    int status = copy ? 0 : no_memory();
    while (status == 0 && (name = strsep(&rest, ","))) {
        char *count = strchr(name, ':');
        if (count)
            *count++ = '\0';
        status = add_one(hosts, "--hosts", name, count);
    }
    free(copy);
    return status;
}

/* "name", "name:4", "name 4" or, as Open MPI writes it, "name slots=4". */
static int add_line(void *context, const struct lines_place *place, char *line)
{
    static const char between[] = ": \t";
    char *rest = line + strspn(line, " \t");
    char *name = strsep(&rest, between);
    while (rest && rest[0] && strchr(between, rest[0]))
        rest++;
    char *count = rest && rest[0] ? strsep(&rest, between) : NULL;
    if (count && strncmp(count, "slots=", 6) == 0)
        count += 6;
    return add_one(context, "--hostfile", name, count);
}

int run_hosts_read(struct run_hosts *hosts, const char *path)
{
    int before = hosts->launch.count;
    int status = lines_read(path, hosts, add_line);
    if (status < 0) {
        cli_say("--hostfile: %s", rh_error_text());
        return LAUNCH_STATUS_FAILED;
    }
    if (status == 0 && hosts->launch.count == before)
        status = cli_usage_error("--hostfile %s: there is no host in it", path);
    return status;
}

int run_hosts_export(struct run_hosts *hosts, const char *names)
{
    char *copy = strdup(names);
    char *rest = copy;
    char *name;
    int status = copy ? 0 : no_memory();
    while (status == 0 && (name = strsep(&rest, ","))) {
        size_t needed = (size_t)hosts->exported_count + 1;
        bool has_room = array_grow(&hosts->exported, &hosts->exported_room, needed);
        char *kept = has_room ? strdup(name) : NULL;
        if (!kept)
            status = no_memory();
        else
            hosts->exported[hosts->exported_count++] = kept;
    }
    free(copy);
    return status;
}

static bool is_exported(const struct run_hosts *hosts, const char *entry)
{
    size_t length = strcspn(entry, "=");
    if (strncmp(entry, "RHINET_", 7) == 0)
        return true;
    for (int i = 0; i < hosts->exported_count; i++) {
        if (strlen(hosts->exported[i]) == length && strncmp(hosts->exported[i], entry, length) == 0)
            return true;
    }
    return false;
}

int run_hosts_finish(struct run_hosts *hosts, const struct settings *settings)
{
    size_t count = 0;
    while (environ[count])
        count++;
    hosts->launch.variables = calloc(count + 1, sizeof(char *));
    if (!hosts->launch.variables)
        return no_memory();
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_exported(hosts, environ[i]))
            hosts->launch.variables[kept++] = environ[i];
    }
    if (!hosts->launch.rsh)
        hosts->launch.rsh = setting_text(settings, SETTING_RSH);
    if (hosts->launch.rsh[0] == '\0') /* no questions: who is to answer for 100 hosts? */
        hosts->launch.rsh = "ssh -x -o BatchMode=yes";
    return 0;
}

void run_hosts_free(struct run_hosts *hosts)
{
    for (int i = 0; i < hosts->exported_count; i++)
        free(hosts->exported[i]);
    free(hosts->exported);
    free(hosts->launch.variables);
    free(hosts->launch.host);
    *hosts = (struct run_hosts){0};
}

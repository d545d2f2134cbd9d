/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Being the launcher of one of several hosts: `rhinet node`, which the first launcher starts
 * through a remote shell.
 */
#include "base/settings.h"
#include "job/launch/parts.h"

#include <errno.h>
#include <rhinet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static int take_place(const struct orders *orders, const char *name)
{
    if (chdir(orders->folder) != 0) {
        fprintf(stderr, "%s: cannot work in %s, where `rhinet run` was called: %s\n", name,
                orders->folder, strerror(errno));
        return -1;
    }
    for (char **variable = orders->variables; *variable; variable++) {
        if (putenv(*variable) != 0) /* lies in the orders, which outlive the ranks */
            return -1;
    }
    return 0;
}

static int run(const struct orders *orders, const char *name)
{
    struct settings settings;
    if (take_place(orders, name) < 0)
        return LAUNCH_STATUS_FAILED;
    if (settings_load(&settings, environ) != 0) {
        fprintf(stderr, "%s: %s\n", name, rh_error_text());
        return LAUNCH_STATUS_FAILED;
    }
    struct launch_options options = {
        .size = orders->map.size,
        .nic = orders->nic,
        .timeout_ns = LAUNCH_TIMEOUT_NONE,
        .bind = orders->bind,
        .label = orders->label,
        .survive = orders->survive,
        .argv = orders->argv,
        .environ = environ,
        .settings = &settings,
    };
    struct launch_role role = {
        .name = name, .map = &orders->map, .coordinator = &orders->coordinator};
    return launch_run_as(&options, &role);
}

int launch_node(void)
{
    struct orders orders;
    char name[128] = "rhinet node";
    unsetenv("RHINET_MANAGER_FD");
    if (orders_read(&orders, STDIN_FILENO) < 0) {
        gethostname(name, sizeof(name) - 1);
        fprintf(stderr, "rhinet node (host %s): %s\n", name, rh_error_text());
        return LAUNCH_STATUS_FAILED;
    }
    snprintf(name, sizeof(name), "rhinet run (host %s)",
             job_map_host_name(&orders.map, orders.map.seat));
    int status = run(&orders, name);
    orders_free(&orders);
    return status;
}

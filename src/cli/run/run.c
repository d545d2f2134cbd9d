/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet run: the options, checked before anything is started; the work is in job/launch/launch.c.
 * Lists of hosts and what goes to them are hosts.c.
 */
#include "cli/run/run.h"

#include "base/settings.h"
#include "cli/cli.h"
#include "cli/run/hosts.h"
#include "cli/run/simulation.h"
#include "cli/sim/sim.h"
#include "job/job_layer.h"
#include "nic/nic.h"
#include "simulated/world.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIND_UNSAID (-1)

static struct launch_options launch = {.name = "rhinet run", .timeout_ns = LAUNCH_TIMEOUT_NONE};
static struct run_hosts hosts;
static int bind = BIND_UNSAID, map;

int run_variable_set(const char *name, const char *value)
{
    if (setenv(name, value, 1) == 0)
        return 0;
    cli_say("no memory for the variable %s", name);
    return LAUNCH_STATUS_FAILED;
}

static bool is_nic(const char *name, size_t length)
{
    for (size_t i = 0; nic_list[i]; i++) {
        if (strlen(nic_list[i]->name) == length && strncmp(nic_list[i]->name, name, length) == 0)
            return true;
    }
    return false;
}

const char *run_nic_name(size_t index)
{
    return nic_list[index] ? nic_list[index]->name : NULL;
}

/* "shm", "fault(shm)", …: every name in it must be a NIC's. */
int run_nic_take(char *text)
{
    for (const char *name = text; *name;) {
        size_t length = strcspn(name, "()");
        if (!is_nic(name, length))
            return -1;
        name += length + strspn(name + length, "()");
    }
    if (text[0] == '\0')
        return -1;
    return run_variable_set("RHINET_NIC", text);
}

static char martini[4096]; /* what options say of the simulation: NAME=VALUE,... */

int run_martini_add(const char *name, const char *value)
{
    size_t used = strlen(martini);
    if (strchr(value, ','))
        return -1;
    int length = snprintf(martini + used, sizeof(martini) - used, "%s%s=%s", used ? "," : "", name,
                          value);
    if (length > 0 && (size_t)length < sizeof(martini) - used)
        return 0;
    martini[used] = '\0';
    return -1;
}

int run_martini_apply(void)
{
    const char *before = getenv("RHINET_MARTINI");
    char text[2 * sizeof(martini)]; /* what is longer than a setting's text is refused later */
    if (martini[0] == '\0')
        return 0;
    snprintf(text, sizeof(text), "%s%s%s", before ? before : "", before && before[0] ? "," : "",
             martini);
    return run_variable_set("RHINET_MARTINI", text);
}

int run_martini_check(bool is_martini)
{
    if (is_martini || martini[0] == '\0')
        return 0;
    return cli_usage_error("--platform, --compute, --trace, --pcap, --packets, --trace-limit and "
                           "--usage are for --nic martini");
}

int run_platform_take(char *text)
{
    return run_martini_add("platform", text);
}

/* For the ranks. The launcher sees it too, as with env(1), which also searches the new PATH. */
static int take_variable(char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return -1;
    *equals = '\0';
    int result = run_variable_set(text, equals + 1);
    if (result == 0)
        result = run_hosts_export(&hosts, text);
    *equals = '=';
    return result == 0 ? 0 : 1;
}

static int take_hosts(char *text)
{
    return run_hosts_add(&hosts, text);
}

static int take_hostfile(char *text)
{
    return run_hosts_read(&hosts, text);
}

static int take_export(char *text)
{
    return run_hosts_export(&hosts, text);
}

static const char *const binds[] = {"auto", "core", "none", NULL}; /* enum launch_bind */
static const char *const maps[] = {"block", "cyclic", NULL};

const struct cli_option run_options[] = {
    CLI_NUMBER("ranks", "N", 1, INT_MAX, &launch.size,
               "number of processes; needed without --hosts", .letter = 'n', .habit = "np"),
    CLI_CALL("nic", "NAME", run_nic_take, "NIC to use, such as shm or fault(shm)",
             .suggest = run_nic_name, .allowed = "the name of a NIC (`rhinet info` lists them)"),
    CLI_CALL("platform", "NAME", run_platform_take,
             "NIC martini: which machine is simulated, as `rhinet sim platform list` has it",
             .suggest = sim_platform_name, .takes_file = true,
             .allowed = "a platform or file, or FIRST-LAST:NAME for some nodes"),
    CLI_TIME("timeout", "S", 1, INT64_MAX, &launch.timeout_ns, "end the job after S seconds",
             .allowed = "a time such as 90, 1.5s or 2m"),
    CLI_CHOICE("bind", NULL, binds, &bind,
               "core: pin each process to one; none; auto: if there are enough"),
    CLI_FLAG("label", &launch.label, "put the rank before each line of output"),
    CLI_FLAG("survive", &launch.survive, "the death of a rank ends only that rank"),
    CLI_CALL("env", "NAME=VALUE", take_variable, "set a variable for the processes",
             .allowed = "NAME=VALUE"),
    CLI_CALL("hosts", "HOST[:COUNT],...", take_hosts, "run on these hosts, so many on each"),
    CLI_CALL("hostfile", "FILE", take_hostfile, "the same, from a file with a host on each line",
             .takes_file = true),
    CLI_CHOICE("map", NULL, maps, &map, "fill one host after the other, or go round them"),
    CLI_TEXT("rsh", "CMD", &hosts.launch.rsh, "reach a host by CMD HOST PROGRAM ARGUMENT..."),
    CLI_FILE("remote-rhinet", "PROGRAM", &hosts.launch.remote_rhinet,
             "this program on the other hosts"),
    CLI_CALL("export", "NAME,...", take_export,
             "variables to take to the other hosts, besides RHINET_*"),
    CLI_OPTIONS_END,
};

int run_job(const struct run_kind *kind, char **argv)
{
    struct settings settings;
    if (kind->is_alone_possible && launch.size == 0 && hosts.launch.count == 0)
        launch.size = 1;
    launch.survive = launch.survive || kind->survives;
    launch.label = launch.label && !kind->is_plain;
    if (kind->name)
        launch.name = kind->name;
    if (launch.size == 0 && hosts.launch.count == 0)
        return cli_usage_error("how many processes? Give -n N");
    const char *nic = getenv("RHINET_NIC");
    int status = run_martini_check(nic && strstr(nic, "martini"));
    if (status != 0)
        return status;
    unsetenv("RHINET_MANAGER_FD"); /* of a job that we are in ourselves */
    if (run_martini_apply() != 0)
        return LAUNCH_STATUS_FAILED;
    settings_warn(environ);
    if (settings_load(&settings, environ) != 0)
        return cli_fail();
    launch.bind = bind == BIND_UNSAID ? kind->bind : (enum launch_bind)bind;
    char **wrapped = kind->wrap ? kind->wrap(argv, hosts.launch.remote_rhinet) : argv;
    if (!wrapped)
        return LAUNCH_STATUS_FAILED;
    launch.argv = wrapped;
    launch.nic = setting_text(&settings, SETTING_NIC);
    launch.environ = environ;
    launch.settings = &settings;
    launch.server = &martini_server;
    if (hosts.launch.count > 0) {
        hosts.launch.cyclic = map == 1;
        status = run_hosts_finish(&hosts, &settings);
        launch.hosts = &hosts.launch;
    }
    if (status == 0)
        status = launch_run(&launch);
    if (wrapped != argv)
        free(wrapped);
    run_hosts_free(&hosts);
    return status;
}

static int run(int count, char **words)
{
    static const struct run_kind kind = {.bind = LAUNCH_BIND_AUTO};
    char preload[PATH_MAX * 2];
    const char *nic = getenv("RHINET_NIC");
    bool is_martini = nic && strstr(nic, "martini");
    int status = simulation_prepare(is_martini, false, preload, sizeof(preload));
    if (status == 0 && preload[0])
        status = run_variable_set("LD_PRELOAD", preload);
    return status == 0 ? run_job(&kind, words) : status;
}

const struct cli_command cli_run = {
    .name = "run",
    .help = "start a job of N processes, on this machine or on several hosts",
    .operands = "PROGRAM [ARGUMENT...]",
    .options = run_options,
    .shared = simulation_options,
    .takes_files = true,
    .stops = true,
    .run = run};

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rhinet run: the options, checked before anything is started; the work is in job/launch.c. Lists
 * of hosts and what goes to them are hosts.c.
 */
#include "cli/run/run.h"
#include "base/settings.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run/hosts.h"
#include "job/launch.h"
#include "nic/nic.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum option_value {
    OPTION_RANKS = 'n',
    OPTION_HELP = 'h',
    OPTION_NIC = 256,
    OPTION_TIMEOUT,
    OPTION_BIND,
    OPTION_LABEL,
    OPTION_SURVIVE,
    OPTION_ENV,
    OPTION_HOSTS,
    OPTION_HOSTFILE,
    OPTION_MAP,
    OPTION_RSH,
    OPTION_REMOTE_RHINET,
    OPTION_EXPORT
};

#define RUN_ONLY_HELP (-1)

static const struct option options_known[] = {
    {"ranks", required_argument, NULL, OPTION_RANKS},
    {"nic", required_argument, NULL, OPTION_NIC},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"bind", required_argument, NULL, OPTION_BIND},
    {"label", no_argument, NULL, OPTION_LABEL},
    {"survive", no_argument, NULL, OPTION_SURVIVE},
    {"env", required_argument, NULL, OPTION_ENV},
    {"hosts", required_argument, NULL, OPTION_HOSTS},
    {"hostfile", required_argument, NULL, OPTION_HOSTFILE},
    {"map", required_argument, NULL, OPTION_MAP},
    {"rsh", required_argument, NULL, OPTION_RSH},
    {"remote-rhinet", required_argument, NULL, OPTION_REMOTE_RHINET},
    {"export", required_argument, NULL, OPTION_EXPORT},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* What the options say. */
struct run_wishes {
    const struct run_kind *kind;
    struct launch_options launch;
    struct run_hosts hosts;
};

static int refuse(const char *option, const char *value, const char *wanted)
{
    return cli_usage_error("%s \"%s\": %s", option, value, wanted);
}

static bool is_nic(const char *name, size_t length)
{
    for (size_t i = 0; nic_list[i]; i++) {
        if (strlen(nic_list[i]->name) == length && strncmp(nic_list[i]->name, name, length) == 0)
            return true;
    }
    return false;
}

/* "shm", "fault(shm)", …: every name in it must be a NIC's. */
static int set_nic(const char *text)
{
    for (const char *name = text; *name;) {
        size_t length = strcspn(name, "()");
        if (!is_nic(name, length))
            return refuse("--nic", text, "there is no such NIC; `rhinet info` lists them");
        name += length + strspn(name + length, "()");
    }
    if (text[0] == '\0')
        return refuse("--nic", text, "the name of a NIC is expected");
    return setenv("RHINET_NIC", text, 1) == 0 ? 0 : 1;
}

static int set_ranks(struct launch_options *options, const char *text)
{
    uint64_t size;
    if (!text_to_u64(text, &size) || size < 1 || size > INT_MAX)
        return refuse("-n", text, "a number of processes is expected");
    options->size = (int)size;
    return 0;
}

static int set_timeout(struct launch_options *options, const char *text)
{
    if (!text_to_duration(text, &options->timeout_ns) || options->timeout_ns <= 0)
        return refuse("--timeout", text, "a time is expected, such as 90, 1.5s or 2m");
    return 0;
}

static int set_bind(struct launch_options *options, const char *text)
{
    static const char *const names[LAUNCH_BIND_COUNT] = {"auto", "core", "none"};
    for (int i = 0; i < LAUNCH_BIND_COUNT; i++) {
        if (strcmp(text, names[i]) == 0) {
            options->bind = (enum launch_bind)i;
            return 0;
        }
    }
    return refuse("--bind", text, "auto, core or none is expected");
}

static int set_map(struct run_wishes *wishes, const char *text)
{
    wishes->hosts.launch.cyclic = strcmp(text, "cyclic") == 0;
    if (!wishes->hosts.launch.cyclic && strcmp(text, "block") != 0)
        return refuse("--map", text, "block or cyclic is expected");
    return 0;
}

/* For the ranks. The launcher sees it too, as with env(1), which also searches the new PATH. */
static int set_variable(struct run_wishes *wishes, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return refuse("--env", text, "NAME=VALUE is expected");
    *equals = '\0';
    int result = setenv(text, equals + 1, 1);
    if (result == 0)
        result = run_hosts_export(&wishes->hosts, text);
    *equals = '=';
    return result == 0 ? 0 : 1;
}

static int set_host_option(struct run_wishes *wishes, int option, char *value)
{
    switch (option) {
    case OPTION_HOSTS:
        return run_hosts_add(&wishes->hosts, value);
    case OPTION_HOSTFILE:
        return run_hosts_read(&wishes->hosts, value);
    case OPTION_MAP:
        return set_map(wishes, value);
    case OPTION_RSH:
        wishes->hosts.launch.rsh = value;
        return 0;
    case OPTION_REMOTE_RHINET:
        wishes->hosts.launch.remote_rhinet = value;
        return 0;
    default:
        return run_hosts_export(&wishes->hosts, value);
    }
}

static int set_option(struct run_wishes *wishes, int option, char *value, char *word)
{
    struct launch_options *options = &wishes->launch;
    if (option >= RUN_OPTION_EXTRA)
        return wishes->kind->set_option(option, value);
    if (option >= OPTION_HOSTS)
        return set_host_option(wishes, option, value);
    switch (option) {
    case OPTION_RANKS:
        return set_ranks(options, value);
    case OPTION_NIC:
        return set_nic(value);
    case OPTION_TIMEOUT:
        return set_timeout(options, value);
    case OPTION_BIND:
        return set_bind(options, value);
    case OPTION_LABEL:
        options->label = true;
        return 0;
    case OPTION_SURVIVE:
        options->survive = true;
        return 0;
    case OPTION_ENV:
        return set_variable(wishes, value);
    case ':':
        return cli_usage_error("%s needs a value", word);
    default:
        return cli_usage_error("unknown option %s", word);
    }
}

static int run(struct run_wishes *wishes, char **argv)
{
    struct launch_options *options = &wishes->launch;
    struct settings settings;
    settings_warn(environ);
    if (settings_load(&settings, environ) != 0) {
        fprintf(stderr, "rhinet run: %s\n", rh_error_text());
        return LAUNCH_STATUS_FAILED;
    }
    options->nic = setting_text(&settings, SETTING_NIC);
    char **wrapped = wishes->kind->wrap(argv, wishes->hosts.launch.remote_rhinet);
    if (!wrapped)
        return LAUNCH_STATUS_FAILED;
    options->argv = wrapped;
    options->environ = environ;
    options->settings = &settings;
    int status = 0;
    if (wishes->hosts.launch.count > 0) {
        status = run_hosts_finish(&wishes->hosts, &settings);
        options->hosts = &wishes->hosts.launch;
    }
    if (status == 0)
        status = launch_run(options);
    if (wrapped != argv)
        free(wrapped);
    return status;
}

static int parse(struct run_wishes *wishes, int argc, char **argv)
{
    const struct run_kind *kind = wishes->kind;
    size_t known_count = sizeof(options_known) / sizeof(options_known[0]);
    struct option all[64];
    if (kind->option_count + known_count > sizeof(all) / sizeof(all[0]))
        return LAUNCH_STATUS_FAILED;
    for (size_t i = 0; i < kind->option_count; i++)
        all[i] = kind->options[i];
    memcpy(all + kind->option_count, options_known, sizeof(options_known));
    /* '+': the first word that is no option is the program; what follows is the program's. */
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "+:n:h", all, NULL)) != -1) {
        if (option == OPTION_HELP) {
            return RUN_ONLY_HELP;
        }
        int status = set_option(wishes, option, optarg, argv[optind - 1]);
        if (status)
            return status;
    }
    if (wishes->launch.size == 0 && wishes->hosts.launch.count == 0)
        return cli_usage_error("how many processes? Give -n N");
    if (optind == argc)
        return cli_usage_error("which program?");
    return 0;
}

int run_command(const struct run_kind *kind, int argc, char **argv)
{
    struct run_wishes wishes = {.kind = kind,
                                .launch = {.timeout_ns = LAUNCH_TIMEOUT_NONE, .bind = kind->bind}};
    unsetenv("RHINET_MANAGER_FD"); /* of a job that we are in ourselves */
    int status = parse(&wishes, argc, argv);
    if (status == 0)
        status = run(&wishes, argv + optind);
    run_hosts_free(&wishes.hosts);
    return status == RUN_ONLY_HELP ? 0 : status;
}

static char **no_wrap(char **argv, const char *remote_rhinet)
{
    (void)remote_rhinet;
    return argv;
}

static int run_old(int argc, char **argv)
{
    static const struct run_kind kind = {.name = "run", .wrap = no_wrap};
    return run_command(&kind, argc, argv);
}

const struct cli_command cli_run = {
    .name = "run",
    .help = "start a job of N processes, on this machine or on several hosts",
    .old = run_old};

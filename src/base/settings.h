/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every RHINET_ variable, in one table: name, kind, default and help. Parsed once, at one place,
 * into a checked struct that hangs off the job; nothing else in the project calls getenv for them.
 */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

enum setting {
    SETTING_NIC,
    SETTING_TIMEOUT,
    SETTING_SPIN,
    SETTING_STUCK,
    SETTING_SEGMENTS,
    SETTING_LOCKS,
    SETTING_DSM_HEAP,
    SETTING_DSM_VARIABLES,
    SETTING_DSM_CHECK,
    SETTING_HUGE_PAGES,
    SETTING_CMA,
    SETTING_MEMBARRIER,
    SETTING_FAULT,
    SETTING_OFI_PROVIDER,
    SETTING_MIXED_RANKS,
    SETTING_MARTINI,
    SETTING_MSG_WAY,
    SETTING_PM,
    SETTING_DSM_FAULTS,
    SETTING_DSM_BULK,
    SETTING_GRACE,
    SETTING_HOST_TIMEOUT,
    SETTING_INTERFACE,
    SETTING_PORTS,
    SETTING_RSH,
    SETTING_STARTER,
    SETTING_CACHE_SIZE,
    SETTING_CACHE_PATH,
    SETTING_CACHE_BLOCK,
    SETTING_CACHE_GROUPS,
    SETTING_CACHE_SINGLETS,
    SETTING_CACHE_AHEAD,
    SETTING_CACHE_SETTLE,
    SETTING_CACHE_LEASE,
    SETTING_CACHE_PATIENCE,
    SETTING_CACHE_CHECKSUM,
    SETTING_CACHE_DIRECT,
    SETTING_CACHE_THREADS,
    SETTING_CACHE_PRETEND,
    SETTING_CACHE_PRELOAD,
    SETTING_CACHE_SOCKET,
    SETTING_LOG,
    SETTING_MANAGER_FD,
    SETTING_MARTINI_FD,
    SETTING_COUNT
};

enum setting_kind { SETTING_TEXT, SETTING_NUMBER, SETTING_DURATION, SETTING_CHOICE };

struct setting_spec {
    const char *name; /* with RHINET_ */
    enum setting_kind kind;
    const char *initial; /* as a user would write it */
    const char *choices; /* for SETTING_CHOICE: "a|b|c" */
    uint64_t least, most;
    const char *help;
};

struct settings {
    struct {
        char text[256];  /* as written; for SETTING_CHOICE one of the choices */
        uint64_t number; /* SETTING_NUMBER; SETTING_DURATION in ns; SETTING_CHOICE: which one */
        int from_environment;
    } value[SETTING_COUNT];
};

const struct setting_spec *setting_spec(enum setting which);

/* Reads environment ("NAME=value" strings, as environ). A bad value is an error that names the
 * variable, the value and what is allowed; unknown names are passed over. */
int settings_load(struct settings *settings, char *const *environment);

/* A warning for each unknown RHINET_ name, with the nearest. Only one process of a job says so: its
 * launcher, or rank 0 where that is not ours. */
void settings_warn(char *const *environment);

static inline const char *setting_text(const struct settings *settings, enum setting which)
{
    return settings->value[which].text;
}

static inline uint64_t setting_number(const struct settings *settings, enum setting which)
{
    return settings->value[which].number;
}

#endif

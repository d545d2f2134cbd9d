/* SPDX-License-Identifier: BSD-3-Clause
 *
 * handler LIBRARY: shared pages take the signal of faults. A program puts a handler of its own
 * above ours and passes on what it does not know, as ours does below it. When the library is
 * unloaded, that way must still lead somewhere; and without such a handler the library must be
 * gone.
 */
#include <dlfcn.h>
#include <rhinet/dsm_pages.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LENGTH 65536

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "FAIL line %d: %s\n", __LINE__, #condition);                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define FIND(name) __typeof__(name) *name##_loaded = (__typeof__(name) *)dlsym(library, #name)

static sigjmp_buf back;
static struct sigaction below;
static volatile sig_atomic_t passed_on;

/* The program's own, below ours: it ends the access. */
static void rescue(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    siglongjmp(back, 1);
}

/* Somebody's above ours. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    passed_on++;
    below.sa_sigaction(signal, info, context);
}

static bool is_loaded(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library != NULL;
}

/* Pages are opened, written and closed; with is_above, a handler is put above ours meanwhile. */
static void use(void *library, bool is_above)
{
    struct rh_job *job;
    struct rh_dsm *dsm;
    struct rh_dsm_pages *pages;
    struct rh_dsm_options shared = {.struct_size = sizeof(shared), .heap_length = 1 << 20};
    struct rh_dsm_pages_options options = {.struct_size = sizeof(options), .length = LENGTH};
    struct sigaction above = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};
    FIND(rh_join);
    FIND(rh_leave);
    FIND(rh_dsm_open);
    FIND(rh_dsm_close);
    FIND(rh_dsm_pages_open);
    FIND(rh_dsm_pages_close);
    FIND(rh_dsm_pages_base);
    MUST(rh_join_loaded(&job, NULL) == 0);
    MUST(rh_dsm_open_loaded(&dsm, job, &shared) == 0);
    MUST(rh_dsm_pages_open_loaded(&pages, dsm, &options) == 0);
    if (is_above)
        sigaction(SIGSEGV, &above, &below);
    memset(rh_dsm_pages_base_loaded(pages), 1, LENGTH);
    MUST((passed_on > 0) == is_above);
    MUST(rh_dsm_pages_close_loaded(pages) == 0);
    MUST(rh_dsm_close_loaded(dsm) == 0);
    MUST(rh_leave_loaded(job) == 0);
}

static void fault(void)
{
    volatile char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sigsetjmp(back, 1) == 0) {
        *nothing = 1;
        MUST(!"reached");
    }
}

int main(int argc, char **argv)
{
    struct sigaction own = {.sa_sigaction = rescue, .sa_flags = SA_SIGINFO};
    MUST(argc == 2);
    setenv("RHINET_DSM_FAULTS", "mprotect", 1);
    sigaction(SIGSEGV, &own, NULL);
    for (int is_above = 0; is_above <= 1; is_above++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        MUST(library);
        use(library, is_above);
        dlclose(library);
        MUST(is_loaded(argv[1]) == is_above);
        fault();
    }
    return 0;
}

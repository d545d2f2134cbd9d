/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making shared pages: memory, homes, the view.
 */
#include "dsm/page/open.h"

#include "dsm/dsm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPACES_MAX      8 /* two SIDs each, of those that dsm.h sets aside */
#define SET_FIRST       0xfe00u
#define NAME_FIRST      0xfffe0000u
#define ASYNC_PAGES_MAX 8192 /* a release that finds nothing then takes 0.1 ms */
#define ADDRESS_FIRST   ((uintptr_t)0x3a0000000000)
#define ADDRESS_STEP    ((uintptr_t)0x010000000000)
#ifdef __SANITIZE_THREAD__ /* knows no memory at such addresses */
#define ADDRESS_TRIES 0
#else
#define ADDRESS_TRIES 4
#endif

/* ---- Memory --------------------------------------------------------------------------------- */

static void plan(struct rh_dsm_pages *pages)
{
    uint64_t words = (pages->count + 63) / 64;
    uint64_t share = (pages->count + (size_t)pages->size - 1) / (size_t)pages->size;
    struct pages_layout *layout = &pages->layout;
    layout->generation = 0;
    layout->log = 64;
    layout->shared = layout->log + PAGES_LOG_ENTRIES * sizeof(struct pages_entry);
    layout->directory = layout->shared + words * 8;
    layout->moves = layout->directory + (pages->options.home == RH_DSM_HOME_TOUCH ? share * 8 : 0);
    layout->blocks = layout->moves + PAGES_MOVES_MAX * sizeof(struct pages_move);
    layout->length = layout->blocks + meeting_length(pages->size);
}

/* Bring the memory into being: the kernel lends pages that are there only. */
static int populate(void *backing, size_t length)
{
    if (madvise(backing, length, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
        return 0; /* EINVAL: before Linux 5.14, which has nothing to lend either */
    return error_no_memory("%zu bytes of shared pages", length);
}

/* The first free place for a space is the same on all ranks, since they open and close together. */
static int open_segments(struct rh_dsm_pages *pages, unsigned *space)
{
    void *backing, *control;
    int result = RH_EEXIST;
    for (*space = 0; *space < SPACES_MAX && result == RH_EEXIST; *space += result != 0) {
        pages->control_sid = DSM_SID_PAGES + *space * 2;
        result = rh_segment_alloc(pages->job, pages->control_sid, pages->layout.length, &control);
    }
    if (result < 0)
        return result;
    pages->control = control;
    pages->log = (struct pages_entry *)(void *)(pages->control + pages->layout.log);
    pages->moves = (struct pages_move *)(pages->control + pages->layout.moves);
    pages->data_sid = pages->control_sid + 1;
    result = rh_segment_alloc(pages->job, pages->data_sid, pages->count * FAULTS_PAGE, &backing);
    if (result < 0)
        return result;
    pages->backing = backing;
    return populate(backing, pages->count * FAULTS_PAGE);
}

static int open_tables(struct rh_dsm_pages *pages)
{
    size_t words = (pages->count + 63) / 64, ranks = (size_t)pages->size;
    _Atomic uint64_t **maps[] = {&pages->written,   &pages->owed,  &pages->watched,
                                 &pages->announced, &pages->noted, &pages->adopted,
                                 &pages->moving};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        ARENA_TAKE(&pages->memory, *maps[i], words);
    ARENA_TAKE(&pages->memory, pages->pages, pages->count);
    ARENA_TAKE(&pages->memory, pages->direct, ranks);
    ARENA_TAKE(&pages->memory, pages->vector, ranks);
    ARENA_TAKE(&pages->memory, pages->reached, ranks);
    ARENA_TAKE(&pages->memory, pages->scratch, PAGES_CLOSE_MAX * FAULTS_PAGE);
    ARENA_TAKE(&pages->memory, pages->is_writer, pages->options.lock_count);
    void *twins = mmap(NULL, pages->count * FAULTS_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pages->twins = twins == MAP_FAILED ? NULL : twins;
    if (pages->memory.is_short || !pages->twins)
        return error_no_memory("the tables of %zu shared pages", pages->count);
    return 0;
}

/* Look at every peer's segments once, so that no fault has to ask the task manager. */
static int meet_peers(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (int rank = 0; rank < pages->size && result == 0; rank++) {
        uint64_t word;
        result = rh_segment_wait(pages->job, rank, pages->data_sid, RH_TIMEOUT_DEFAULT);
        if (result < 0 || rank == pages->rank)
            continue;
        pages->direct[rank] = rh_remote_ptr(pages->job, rh_at(rank, pages->data_sid, 0),
                                            pages->count * FAULTS_PAGE);
        result = pages_pull(pages, rh_at(rank, pages->control_sid, 0), &word, sizeof(word));
    }
    return result;
}

/* ---- What all ranks must agree on ------------------------------------------------------------ */

static int first_home(const struct rh_dsm_pages *pages, size_t page)
{
    const struct rh_dsm_pages_options *options = &pages->options;
    size_t share = (pages->count + (size_t)pages->size - 1) / (size_t)pages->size;
    if (options->home == RH_DSM_HOME_GIVEN)
        return options->home_of(options->context, page);
    return options->home == RH_DSM_HOME_BLOCK ? (int)(page / share) : PAGES_HOME_UNKNOWN;
}

/* Homes that the program gives are asked for once; *sum tells whether all ranks got the same. */
static int choose_homes(struct rh_dsm_pages *pages, uint64_t *sum)
{
    for (size_t i = 0; i < pages->count; i++) {
        int home = first_home(pages, i);
        if (home < PAGES_HOME_UNKNOWN || home >= pages->size)
            return error_set(RH_EINVALID, pages->rank,
                             "home_of says %d for page %zu; the job has ranks 0 to %d", home, i,
                             pages->size - 1);
        pages->pages[i].home = home;
        pages->pages[i].writer = PAGES_HOME_UNKNOWN;
        *sum = (*sum ^ (uint64_t)home) * 0x100000001b3;
    }
    return 0;
}

/* What a rank has opened its pages with. */
enum term { LENGTH, HOME, SETTLED, FIRST_VARIABLE, LOCK_COUNT, IS_WRONG, HOMES, TERMS };

static const char *const term_names[TERMS] = {
    [LENGTH] = "length",
    [HOME] = "home",
    [SETTLED] = "is_settled",
    [FIRST_VARIABLE] = "first_variable",
    [LOCK_COUNT] = "lock_count",
    [IS_WRONG] = "mistakes of home_of",
    [HOMES] = "other answers of home_of, whose sum is",
};

static int compare_terms(const struct rh_dsm_pages *pages, const uint64_t *all)
{
    for (int rank = 1; rank < pages->size; rank++) {
        const uint64_t *theirs = all + (size_t)rank * TERMS;
        for (int i = 0; i < TERMS; i++)
            if (theirs[i] != all[i])
                return error_set(RH_EINVALID, rank,
                                 "ranks open different shared pages: %s %llu on rank 0, %llu on "
                                 "rank %d; pass the same on all",
                                 term_names[i], (unsigned long long)all[i],
                                 (unsigned long long)theirs[i], rank);
    }
    return 0;
}

/* Also with a mistake of our own: the others wait for us. */
static int agree(struct rh_dsm_pages *pages)
{
    const struct rh_dsm_pages_options *options = &pages->options;
    uint64_t mine[TERMS] = {[LENGTH] = options->length,
                            [HOME] = options->home,
                            [SETTLED] = options->is_settled,
                            [FIRST_VARIABLE] = options->first_variable,
                            [LOCK_COUNT] = options->lock_count};
    uint64_t *all = calloc((size_t)pages->size, sizeof(mine));
    if (!all)
        return error_no_memory("shared pages");
    int chosen = choose_homes(pages, &mine[HOMES]);
    mine[IS_WRONG] = chosen < 0;
    int result = rh_allgather(pages->set, mine, all, sizeof(mine));
    if (result == 0 && chosen < 0)
        result = choose_homes(pages, &mine[HOMES]); /* says it once more */
    else if (result == 0)
        result = compare_terms(pages, all);
    free(all);
    return result;
}

int open_memory(struct rh_dsm_pages *pages)
{
    struct rh_msg *msg = rh_dsm_msg(pages->dsm);
    unsigned space = 0;
    pages->job = pages->dsm->job;
    pages->rank = rh_rank(pages->job);
    pages->size = rh_size(pages->job);
    plan(pages);
    int result = open_tables(pages);
    if (result == 0)
        result = open_segments(pages, &space);
    if (result < 0)
        return result;
    struct rh_set_spec all = {.struct_size = sizeof(all), .id = SET_FIRST + space};
    result = rh_set_create(msg, &all, &pages->set);
    if (result == 0)
        result = agree(pages);
    if (result == 0)
        result = lock_open(pages, NAME_FIRST + space);
    return result < 0 ? result : meet_peers(pages);
}

/* ---- The view ------------------------------------------------------------------------------- */

static char *map_view(const struct rh_dsm_pages *pages, uintptr_t address)
{
    size_t length = pages->count * FAULTS_PAGE;
    int flags = MREMAP_MAYMOVE;
    if (address != 0) { /* reserve it first: nothing of the program's may be overwritten */
        void *wanted = mmap((void *)address, length, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                            0);
        if (wanted == MAP_FAILED)
            return NULL;
        if ((uintptr_t)wanted != address) { /* a kernel that takes it for a hint */
            munmap(wanted, length);
            return NULL;
        }
        flags |= MREMAP_FIXED;
    }
    void *view = mremap(pages->backing, 0, length, flags, (void *)address);
    return view == MAP_FAILED ? NULL : view;
}

/* Try an address; it is good only if all ranks have it. */
static int try_address(struct rh_dsm_pages *pages, uintptr_t address)
{
    struct rh_reduction all = {.type = RH_UINT64, .operator_ = RH_AND, .count = 1};
    pages->view = map_view(pages, address);
    uint64_t mine = pages->view != NULL, common = 0;
    int result = rh_allreduce(pages->set, &mine, &common, &all);
    if (result == 0)
        pages->is_same_address = common != 0;
    if (pages->view && !pages->is_same_address) {
        munmap(pages->view, pages->count * FAULTS_PAGE);
        pages->view = NULL;
    }
    return result;
}

static int open_view(struct rh_dsm_pages *pages)
{
    int result = 0;
    for (int i = 0; i < ADDRESS_TRIES && result == 0 && !pages->is_same_address; i++) {
        uintptr_t space = pages->control_sid - DSM_SID_PAGES;
        result = try_address(pages, ADDRESS_FIRST + (uintptr_t)i * ADDRESS_STEP +
                                        space * (ADDRESS_STEP / (2 * SPACES_MAX)));
    }
    if (result == 0 && !pages->view)
        pages->view = map_view(pages, 0);
    if (result == 0 && !pages->view)
        result = error_fail(RH_ENOSPACE, "cannot map %zu shared pages twice", pages->count);
    return result;
}

/* Our own pages are accessible from the start, unless they are in too many pieces for mprotect:
 * then when they are used. */
static int settle(struct rh_dsm_pages *pages)
{
    struct faults_run mine = {0};
    int result = 0;
    for (size_t i = 0; i <= pages->count && result == 0; i++) {
        if (i < pages->count && pages_is_mine(pages, i)) {
            mine.count++;
            continue;
        }
        result = pages_access_set(pages, mine, FAULTS_WRITE);
        mine = (struct faults_run){.first = i + 1};
    }
    return result == RH_ENOSPACE ? drop_everything(pages) : result;
}

/* A release looks at every page that has been read here if the kernel notes writes, and only at
 * those that have been written if they raise faults: some 15 ns for each page read against 3 us for
 * each written. So many pages are better off with the latter. */
static enum faults_kind best_for(size_t count)
{
    enum faults_kind best = faults_best();
    if (best == FAULTS_ASYNC && count > ASYNC_PAGES_MAX && faults_probe(FAULTS_SIGBUS) == 0)
        return FAULTS_SIGBUS;
    return best;
}

static int choose_faults(struct rh_dsm_pages *pages)
{
    const char *wanted = setting_text(rma_settings(pages->job), SETTING_DSM_FAULTS);
    pages->kind = best_for(pages->count);
    for (int kind = 0; kind < FAULTS_KINDS; kind++) {
        if (strcmp(faults_name((enum faults_kind)kind), wanted) == 0) {
            pages->kind = (enum faults_kind)kind;
            return faults_probe(pages->kind);
        }
    }
    return 0;
}

int open_faults(struct rh_dsm_pages *pages)
{
    int result = open_view(pages);
    if (result == 0)
        result = choose_faults(pages);
    if (result < 0)
        return result;
    struct faults_range range = {.base = pages->view,
                                 .length = pages->count * FAULTS_PAGE,
                                 .on_fault = pages_on_fault,
                                 .context = pages};
    result = faults_open(&pages->faults, pages->kind, &range);
    if (result < 0)
        return result;
    pages->tells_writes = faults_writes_tell(pages->faults);
    return settle(pages);
}

/* ---- Undoing -------------------------------------------------------------------------------- */

void open_undo(struct rh_dsm_pages *pages)
{
    size_t length = pages->count * FAULTS_PAGE;
    if (pages->faults)
        faults_close(pages->faults);
    if (pages->view)
        munmap(pages->view, length);
    if (pages->set)
        rh_set_destroy(pages->set);
    if (pages->backing)
        rh_segment_detach(pages->job, pages->data_sid);
    if (pages->control)
        rh_segment_detach(pages->job, pages->control_sid);
    if (pages->twins)
        munmap(pages->twins, length);
    sync_close(pages);
    arena_free(&pages->memory);
    free(pages);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of views: read without a lock, changed under one. A view that has gone stale is
 * retired: its segment's memory is let go at once, the rest when no thread can still be using it.
 */
#include "base/error.h"
#include "nic/shm/shm_nic.h"

#include <stdlib.h>
#include <sys/mman.h>

#define SLOTS_FIRST 256
#define RETIRED_MAX 32 /* then it is worth asking whether they can go */

static struct shm_view_table *table_create(size_t slots)
{
    struct shm_view_table *table = calloc(1, sizeof(*table) + slots * sizeof(table->slot[0]));
    if (table)
        table->mask = slots - 1;
    return table;
}

static _Atomic(struct shm_view *) *find_slot(struct shm_view_table *table, int rank, rh_sid sid)
{
    size_t at = shm_view_hash(rank, sid) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        struct shm_view *view = atomic_load_explicit(&table->slot[at], memory_order_acquire);
        if (!view || (view->rank == rank && view->sid == sid))
            return &table->slot[at];
    }
}

struct shm_view *shm_table_get(struct shm_nic *shm, int rank, rh_sid sid)
{
    struct shm_view_table *table = atomic_load_explicit(&shm->views, memory_order_acquire);
    return atomic_load_explicit(find_slot(table, rank, sid), memory_order_acquire);
}

/* ---- Retiring ------------------------------------------------------------------------------- */

static void list_add(struct shm_view **list, struct shm_view *view)
{
    view->previous = NULL;
    view->next = *list;
    if (*list)
        (*list)->previous = view;
    *list = view;
}

static void list_remove(struct shm_view **list, struct shm_view *view)
{
    if (view->next)
        view->next->previous = view->previous;
    if (view->previous)
        view->previous->next = view->next;
    else
        *list = view->next;
}

static void free_list(struct shm_view **list)
{
    while (*list) {
        struct shm_view *view = *list;
        *list = view->next;
        if (view->mapped_length)
            munmap(view->base, view->mapped_length);
        free(view);
    }
}

static void let_go(struct shm_nic *shm, struct shm_view *view)
{
    list_remove(&shm->view_list, view);
    list_add(&shm->retired, view);
    shm->retired_count++;
}

/* The layer above may go on writing through a pinned view's pointer: into memory nobody sees. (If
 * there is none for that, into the old pages, which nobody else has any more.) */
static void retire(struct shm_nic *shm, struct shm_view *view)
{
    atomic_store(&view->is_retired, true); /* seq_cst, as all here: first this, then the look */
    view->is_orphan = atomic_load(&view->pins) > 0;
    if (!view->is_orphan)
        let_go(shm, view);
    else if (view->mapped_length)
        mmap(view->base, view->mapped_length, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

bool shm_view_pin(struct shm_nic *shm, struct shm_view *view)
{
    atomic_fetch_add(&view->pins, 1);
    if (likely(!atomic_load(&view->is_retired)))
        return true;
    shm_view_unpin(shm, view);
    return false;
}

/* Either retire() sees our pin and makes it an orphan, or we see here that it is retired, or it had
 * no pin when it was retired and is on its way out already. */
void shm_view_unpin(struct shm_nic *shm, struct shm_view *view)
{
    if (atomic_fetch_sub(&view->pins, 1) != 1 || likely(!atomic_load(&view->is_retired)))
        return;
    pthread_mutex_lock(&shm->view_lock);
    if (view->is_orphan && atomic_load(&view->pins) == 0) {
        view->is_orphan = false;
        let_go(shm, view);
    }
    pthread_mutex_unlock(&shm->view_lock);
}

/* Comes before this operation retires anything: what the calling thread itself may still hold is
 * not on the list yet. */
static void reclaim(struct shm_nic *shm)
{
    if (shm->retired_count < RETIRED_MAX || !guard_idle())
        return;
    free_list(&shm->retired);
    shm->retired_count = 0;
}

/* ---- Changing the table --------------------------------------------------------------------- */

static void move_current(struct shm_nic *shm, struct shm_view_table *from,
                         struct shm_view_table *to)
{
    for (size_t i = 0; i <= from->mask; i++) {
        struct shm_view *view = atomic_load_explicit(&from->slot[i], memory_order_relaxed);
        if (!view || !shm_view_is_current(view))
            continue; /* a stale one stays out and is retired once the new table stands */
        atomic_store_explicit(find_slot(to, view->rank, view->sid), view, memory_order_relaxed);
        to->used++;
    }
    to->older = from;
    atomic_store_explicit(&shm->views, to, memory_order_release);
}

static void retire_stale(struct shm_nic *shm, struct shm_view_table *from)
{
    for (size_t i = 0; i <= from->mask; i++) {
        struct shm_view *view = atomic_load_explicit(&from->slot[i], memory_order_relaxed);
        if (view && shm_table_get(shm, view->rank, view->sid) != view)
            retire(shm, view);
    }
}

/* Keep three quarters empty, so that most views are found at the first look. */
static bool make_room(struct shm_nic *shm)
{
    struct shm_view_table *old = atomic_load_explicit(&shm->views, memory_order_relaxed);
    if (old->used * 4 <= old->mask)
        return true;
    struct shm_view_table *grown = table_create((old->mask + 1) * 2);
    if (!grown)
        return false;
    move_current(shm, old, grown);
    retire_stale(shm, old);
    return true;
}

int shm_table_put(struct shm_nic *shm, struct shm_view *view)
{
    reclaim(shm);
    if (!make_room(shm)) {
        if (view->mapped_length)
            munmap(view->base, view->mapped_length);
        return error_set(RH_ENOSPACE, view->rank, "no memory for the table of views");
    }
    struct shm_view_table *table = atomic_load_explicit(&shm->views, memory_order_relaxed);
    _Atomic(struct shm_view *) *slot = find_slot(table, view->rank, view->sid);
    struct shm_view *replaced = atomic_load_explicit(slot, memory_order_relaxed);
    list_add(&shm->view_list, view);
    atomic_store_explicit(slot, view, memory_order_release);
    if (replaced)
        retire(shm, replaced);
    else
        table->used++;
    return 0;
}

int shm_views_open(struct shm_nic *shm)
{
    struct shm_view_table *table = table_create(SLOTS_FIRST);
    if (!table)
        return error_no_memory("the table of views");
    atomic_store_explicit(&shm->views, table, memory_order_relaxed);
    return 0;
}

void shm_views_close(struct shm_nic *shm)
{
    free_list(&shm->view_list);
    free_list(&shm->retired);
    struct shm_view_table *table = atomic_load_explicit(&shm->views, memory_order_relaxed);
    while (table) {
        struct shm_view_table *older = table->older;
        free(table);
        table = older;
    }
}

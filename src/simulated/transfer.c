/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Push and pull. A transfer is cut into pieces of what can be lent to the controller at once; some
 * are under way at a time, each with an ack. Data and notice go through the same Initiator and over
 * the same way, so the notice never overtakes. Whoever waits, or any later call of the rank, sees
 * to it that a transfer goes on.
 */
#include "base/assert.h"
#include "base/error.h"
#include "simulated/station.h"

#include <errno.h>
#include <stdlib.h>

int station_submit(struct station *station, const struct process_request *request)
{
    while (station->is_busy)
        fiber_wait(station->world->sim, &station->idle, SIM_NEVER);
    station->is_busy = true;
    int result;
    do /* an earlier request of that window may have been given up, and then refused */
        result = process_submit(station->process, request);
    while (result == -EACCES);
    station->is_busy = false;
    sim_condition_signal(station->world->sim, &station->idle);
    station_sleep(station, 0);
    return result < 0 ? error_fail(RH_EREFUSED, "the controller refused a request") : 0;
}

int station_finish(struct station *station)
{
    while (station->is_busy)
        fiber_wait(station->world->sim, &station->idle, SIM_NEVER);
    station->is_busy = true;
    int result = process_finish(station->process);
    station->is_busy = false;
    sim_condition_signal(station->world->sim, &station->idle);
    station_sleep(station, 0);
    return result < 0 ? error_fail(RH_EREFUSED, "the controller refused a request") : 0;
}

/* What others fail with meanwhile is not ours. */
void loan_end(struct station *station, uint64_t loan, bool is_lost)
{
    struct error_state before;
    error_save(&before);
    process_lend_end(station->process, loan, is_lost);
    error_restore(&before);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static struct piece *piece_free(struct transfer *transfer)
{
    for (int i = 0; i < STATION_PIECES; i++) {
        if (!transfer->pieces[i].is_used)
            return &transfer->pieces[i];
    }
    return NULL;
}

static bool pieces_are_under_way(const struct transfer *transfer)
{
    for (int i = 0; i < STATION_PIECES; i++) {
        if (transfer->pieces[i].is_used)
            return true;
    }
    return false;
}

static void piece_end(struct station *station, struct piece *piece, bool is_lost)
{
    ASSERT(piece->is_used);
    ASSERT(station->pull_count >= (uint32_t)piece->is_pull);
    uint64_t loan = piece->loan;
    piece->is_used = false;
    station->pull_count -= piece->is_pull;
    flag_give(station, piece->flag, is_lost);
    if (loan)
        loan_end(station, loan, is_lost);
}

/* The notice's word stands behind the data at both ends: one PUSH does. */
static bool notice_fits(const struct transfer *transfer, uint64_t part)
{
    const struct martini_notice *notice = &transfer->notice;
    return notice->is_wanted && notice->follows && !transfer->is_notice_sent &&
           transfer->sent + part == transfer->length && part + 8 <= PROCESS_LOAN_MAX &&
           notice->sid == transfer->awaited.segment->sid &&
           notice->offset == transfer->offset + transfer->length;
}

static int data_send(struct station *station, struct transfer *transfer, struct piece *piece)
{
    ASSERT(piece->is_used);
    ASSERT(transfer->sent <= transfer->length);
    uint64_t rest = transfer->length - transfer->sent;
    uint64_t part = rest < PROCESS_LOAN_MAX ? rest : PROCESS_LOAN_MAX;
    bool has_notice = notice_fits(transfer, part);
    struct host_loan loan = {.address = transfer->address + transfer->sent,
                             .length = part + (has_notice ? 8 : 0),
                             .reach = station->reach};
    int result = process_lend(station->process, &loan, &piece->loan);
    if (result < 0) {
        piece_end(station, piece, false);
        return error_fail(RH_ENOSPACE, "too much memory is lent to the controller");
    }
    struct process_request request = {
        .peer = station_of(station->world, transfer->awaited.rank)->process,
        .kick = transfer->is_pull ? CHIP_PULL : CHIP_PUSH,
        .sid = transfer->awaited.segment->sid,
        .local = piece->loan,
        .remote = transfer->offset + transfer->sent,
        .length = (uint32_t)loan.length,
        .flag = flag_address(piece->flag)};
    transfer->sent += part;
    transfer->is_notice_sent |= has_notice;
    return station_submit(station, &request);
}

static int notice_send(struct station *station, struct transfer *transfer, struct piece *piece)
{
    const struct martini_notice *notice = &transfer->notice;
    struct image image = {.rank = transfer->awaited.rank,
                          .sid = notice->sid,
                          .offset = notice->offset,
                          .data = &notice->value,
                          .length = sizeof(notice->value),
                          .flag = flag_address(piece->flag)};
    transfer->is_notice_sent = true;
    return image_send(station, &image);
}

static bool is_all_sent(const struct transfer *transfer)
{
    return transfer->sent == transfer->length &&
           (!transfer->notice.is_wanted || transfer->is_notice_sent);
}

/* Sends as many pieces as may be under way. */
static int transfer_advance(struct station *station, struct transfer *transfer)
{
    struct piece *piece;
    int result = 0;
    if (transfer->is_advancing)
        return 0;
    transfer->is_advancing = true;
    while (result == 0 && !is_all_sent(transfer) && (piece = piece_free(transfer)) != NULL) {
        if (transfer->is_pull && station->pull_count >= STATION_PULLS)
            break;
        *piece = (struct piece){.is_used = true, .is_pull = transfer->is_pull};
        result = flag_take(station, &piece->flag);
        if (result < 0) {
            piece->is_used = false;
            break;
        }
        station->pull_count += piece->is_pull;
        if (transfer->sent < transfer->length)
            result = data_send(station, transfer, piece);
        else
            result = notice_send(station, transfer, piece);
    }
    transfer->is_advancing = false;
    return result;
}

/* ---- Transfers ------------------------------------------------------------------------------- */

static void transfer_end(struct station *station, struct transfer *transfer, int result)
{
    int64_t state = result < 0 ? result : 1;
    transfer->result = result;
    for (int i = 0; i < STATION_PIECES; i++) {
        if (transfer->pieces[i].is_used)
            piece_end(station, &transfer->pieces[i], true);
    }
    if (!transfer->done)
        return; /* whoever waits gives it back */
    station_write(station, transfer->done, &state, sizeof(state));
    transfer->is_used = false;
    station->transfer_count--;
}

static void transfer_look(struct station *station, struct transfer *transfer)
{
    int result = 0;
    for (int i = 0; i < STATION_PIECES; i++) {
        struct piece *piece = &transfer->pieces[i];
        if (piece->is_used && flag_words(station, piece->flag)[0] != 0)
            piece_end(station, piece, false);
    }
    if (transfer->is_advancing)
        return;
    if (!is_all_sent(transfer))
        result = transfer_advance(station, transfer);
    if (transfer->result != 1)
        return; /* ended by another fiber meanwhile */
    bool is_over = is_all_sent(transfer) && !pieces_are_under_way(transfer);
    if (result == 0 && !is_over)
        result = awaited_check(station, &transfer->awaited);
    if (result < 0 || is_over)
        transfer_end(station, transfer, result);
}

void transfers_look(struct station *station)
{
    for (uint32_t i = 0; station->transfer_count > 0 && i < STATION_TRANSFERS; i++) {
        struct transfer *transfer = &station->transfers[i];
        if (transfer->is_used && transfer->result == 1)
            transfer_look(station, transfer);
    }
}

sim_time transfers_deadline(const struct station *station)
{
    sim_time first = SIM_NEVER;
    for (uint32_t i = 0; station->transfer_count > 0 && i < STATION_TRANSFERS; i++) {
        const struct transfer *transfer = &station->transfers[i];
        if (transfer->is_used && transfer->result == 1 && transfer->awaited.deadline < first)
            first = transfer->awaited.deadline;
    }
    return first;
}

bool transfers_are_under_way(const struct station *station, int rank)
{
    for (uint32_t i = 0; station->transfer_count > 0 && i < STATION_TRANSFERS; i++) {
        const struct transfer *transfer = &station->transfers[i];
        if (transfer->is_used && transfer->result == 1 &&
            (rank == RH_ANY_RANK || rank == transfer->awaited.rank))
            return true;
    }
    return false;
}

static struct transfer *transfer_free(struct station *station)
{
    for (int i = 0; i < STATION_TRANSFERS; i++) {
        if (!station->transfers[i].is_used)
            return &station->transfers[i];
    }
    return NULL;
}

static int transfer_wait(struct station *station, struct transfer *transfer)
{
    while (transfer->result == 1) {
        transfers_look(station);
        if (transfer->result == 1)
            (void)station_wait(station, transfers_deadline(station));
    }
    transfer->is_used = false;
    station->transfer_count--;
    return transfer->result;
}

int transfer_run(struct station *station, const struct transfer *wanted)
{
    struct transfer *transfer = transfer_free(station);
    while (!transfer && !wanted->done) {
        transfers_look(station);
        (void)station_wait(station, transfers_deadline(station));
        transfer = transfer_free(station);
    }
    if (!transfer)
        return error_set(RH_EAGAIN, wanted->awaited.rank, "%d transfers are under way",
                         STATION_TRANSFERS);
    *transfer = *wanted;
    transfer->is_used = true;
    transfer->result = 1;
    station->transfer_count++;
    int result = transfer_advance(station, transfer);
    if (result < 0) {
        transfer->done = 0;
        transfer_end(station, transfer, result);
    }
    return transfer->done ? 0 : transfer_wait(station, transfer);
}

/* ---- Within the rank ------------------------------------------------------------------------- */

/* A rank's own memory is reached without the controller. */
static int copy_own(struct station *station, const struct transfer *wanted)
{
    uint64_t own = wanted->awaited.segment->address + wanted->offset;
    uint64_t source = wanted->is_pull ? own : wanted->address;
    uint64_t target = wanted->is_pull ? wanted->address : own;
    int64_t done = 1;
    void *data = malloc(wanted->length > 0 ? wanted->length : 1);
    if (!data)
        return error_set(RH_ENOSPACE, station->rank, "no memory to copy %llu bytes",
                         (unsigned long long)wanted->length);
    station_read(station, source, data, wanted->length);
    station_write(station, target, data, wanted->length);
    free(data);
    station_sleep(station, (sim_time)wanted->length * station_constants(station)->copy_ps);
    if (wanted->notice.is_wanted) {
        struct station_segment *segment;
        struct access access = {
            station->rank, wanted->notice.sid, wanted->notice.offset, 8, RH_WRITE, false};
        if (segment_check(station, &access, &segment) == 0)
            station_write(station, segment->address + wanted->notice.offset, &wanted->notice.value,
                          8);
    }
    if (wanted->done)
        station_write(station, wanted->done, &done, sizeof(done));
    host_memory_changed(process_host(station->process));
    return 0;
}

/* ---- The calls ------------------------------------------------------------------------------- */

static int transfer_start(struct station *station, const struct martini_call *call, bool is_pull)
{
    struct station_segment *segment, *word;
    struct access access = {.rank = call->rank,
                            .sid = call->sid,
                            .offset = call->offset,
                            .length = call->length,
                            .rights = is_pull ? RH_READ : RH_WRITE};
    struct access notice = {.rank = call->rank,
                            .sid = call->notice.sid,
                            .offset = call->notice.offset,
                            .length = 8,
                            .rights = RH_WRITE};
    int result = segment_check(station, &access, &segment);
    if (result == 0 && call->notice.is_wanted)
        result = segment_check(station, &notice, &word);
    if (result < 0)
        return result;
    struct transfer wanted = {.is_pull = is_pull,
                              .awaited = awaited_make(station, call->rank, segment, 0),
                              .offset = call->offset,
                              .address = call->address,
                              .length = call->length,
                              .notice = call->notice,
                              .done = call->done};
    int64_t done = 1;
    if (call->rank == station->rank)
        return copy_own(station, &wanted);
    if (call->length > 0 || call->notice.is_wanted)
        return transfer_run(station, &wanted);
    if (call->done)
        station_write(station, call->done, &done, sizeof(done));
    return 0;
}

int transfer_push(struct station *station, const struct martini_call *call)
{
    return transfer_start(station, call, false);
}

int transfer_pull(struct station *station, const struct martini_call *call)
{
    return transfer_start(station, call, true);
}

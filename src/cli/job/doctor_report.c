/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `rhinet doctor` has found, as text for people and as JSON for programs.
 */
#include "cli/job/doctor.h"
#include "cli/json_put.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

#define LONG_WAITS_MAX 5 /* told one by one */

static bool is_stopped(const struct diagnosis_rank *rank)
{
    return rank->state < RH_PEER_LEFT && rank->process.state == PROCESS_STOPPED;
}

static const struct diagnosis_wait *oldest_wait(const struct diagnosis_rank *rank)
{
    const struct diagnosis_wait *oldest = NULL;
    for (unsigned i = 0; i < rank->wait_count; i++) {
        if (!oldest || rank->wait[i].since_ns < oldest->since_ns)
            oldest = &rank->wait[i];
    }
    return oldest;
}

/* The wait that makes a rank count as stuck, or NULL. */
static const struct diagnosis_wait *long_wait(const struct doctor_findings *findings,
                                              const struct diagnosis_rank *rank)
{
    const struct diagnosis_wait *oldest = oldest_wait(rank);
    return oldest && findings->diagnosis->now_ns - oldest->since_ns >= findings->after_ns ? oldest
                                                                                          : NULL;
}

enum doctor_verdict doctor_verdict(const struct doctor_findings *findings)
{
    enum doctor_verdict worst = DOCTOR_FINE;
    for (uint32_t i = 0; i < findings->diagnosis->size; i++) {
        const struct diagnosis_rank *rank = &findings->diagnosis->rank[i];
        enum doctor_verdict verdict = rank->is_deadlocked           ? DOCTOR_DEADLOCK
                                      : is_stopped(rank)            ? DOCTOR_STOPPED
                                      : long_wait(findings, rank)   ? DOCTOR_WAITING
                                      : rank->state == RH_PEER_DIED ? DOCTOR_DEAD
                                                                    : DOCTOR_FINE;
        worst = verdict > worst ? verdict : worst;
    }
    return worst;
}

/* ---- The closing lines ---------------------------------------------------------------------- */

static void print_deadlock(FILE *out, const struct diagnosis *diagnosis)
{
    struct diagnosis_text line = {.used = 0};
    unsigned count = 0;
    int first = -1;
    for (uint32_t i = 0; i < diagnosis->size; i++) {
        if (!diagnosis->rank[i].is_deadlocked)
            continue;
        first = first < 0 ? (int)i : first;
        count++;
    }
    if (count == 0)
        return;
    diagnosis_circle_add(&line, diagnosis, first);
    fprintf(out, "Deadlock: %s. %u of %u ranks can never go on.\n", line.text, count,
            diagnosis->size);
}

static unsigned count_waiting_for(const struct diagnosis *diagnosis, int target)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < diagnosis->size; i++) {
        const struct diagnosis_rank *rank = &diagnosis->rank[i];
        bool waits = false;
        for (unsigned k = 0; k < rank->wait_count && (int)i != target; k++)
            waits = waits || (diagnosis_is_directed(&rank->wait[k]) &&
                              diagnosis_depends(diagnosis, (int)i, &rank->wait[k], target));
        count += waits;
    }
    return count;
}

static void print_stopped_and_dead(FILE *out, const struct diagnosis *diagnosis)
{
    for (uint32_t i = 0; i < diagnosis->size; i++) {
        const struct diagnosis_rank *rank = &diagnosis->rank[i];
        struct diagnosis_text line = {.used = 0};
        char pid[16] = "PID"; /* numbers of another host mean nothing here */
        if (rank->pid > 0)
            snprintf(pid, sizeof(pid), "%d", rank->pid);
        if (rank->state == RH_PEER_DIED) {
            diagnosis_state_add(&line, diagnosis, (int)i, false);
            fprintf(out, "Dead: rank %u %s.\n", i, line.text);
        }
        if (is_stopped(rank))
            fprintf(out,
                    "Stopped: rank %u%s%s; %u waiting for it. `kill -CONT %s` lets it go on.\n", i,
                    rank->host[0] ? " on host " : "", rank->host,
                    count_waiting_for(diagnosis, (int)i), pid);
    }
}

static void add_long_wait(struct diagnosis_text *line, const struct diagnosis *diagnosis, int rank,
                          const struct diagnosis_wait *wait)
{
    diagnosis_add(line, "rank %d has waited ", rank);
    diagnosis_age_add(line, diagnosis_age_s(diagnosis, wait));
    diagnosis_add(line, " in ");
    diagnosis_wait_add(line, diagnosis, rank, wait);
    if (!diagnosis_is_directed(wait))
        return;
    for (uint32_t other = 0; other < diagnosis->size; other++) {
        if ((int)other == rank || !diagnosis_depends(diagnosis, rank, wait, (int)other))
            continue;
        diagnosis_add(line, "; rank %u ", other);
        diagnosis_state_add(line, diagnosis, (int)other, true);
        return; /* the first stands for all */
    }
}

static void print_long_waits(FILE *out, const struct doctor_findings *findings)
{
    const struct diagnosis *diagnosis = findings->diagnosis;
    unsigned count = 0;
    for (uint32_t i = 0; i < diagnosis->size; i++) {
        const struct diagnosis_rank *rank = &diagnosis->rank[i];
        const struct diagnosis_wait *wait = long_wait(findings, rank);
        struct diagnosis_text line = {.used = 0};
        if (!wait || rank->is_deadlocked || is_stopped(rank) || ++count > LONG_WAITS_MAX)
            continue;
        add_long_wait(&line, diagnosis, (int)i, wait);
        fprintf(out, "Long wait: %s.\n", line.text);
    }
    if (count > LONG_WAITS_MAX)
        fprintf(out, "Long wait: and %u more ranks.\n", count - LONG_WAITS_MAX);
}

static bool is_unseen(const struct diagnosis_rank *rank)
{
    return rank->state == RH_PEER_JOINED && !rank->is_seen;
}

/* One line for each host, by its first rank. */
static void print_unseen(FILE *out, const struct diagnosis *diagnosis)
{
    for (uint32_t i = 0; i < diagnosis->size; i++) {
        const struct diagnosis_rank *rank = &diagnosis->rank[i];
        unsigned count = 0;
        bool is_first = is_unseen(rank);
        for (uint32_t k = 0; k < diagnosis->size && is_first; k++) {
            const struct diagnosis_rank *other = &diagnosis->rank[k];
            bool is_same = is_unseen(other) && strcmp(other->host, rank->host) == 0;
            is_first = !is_same || k >= i;
            count += is_same;
        }
        if (is_first)
            fprintf(out,
                    "Not known: host %s has not answered; it has %u rank%s. Try `rhinet doctor` "
                    "there.\n",
                    rank->host, count, count == 1 ? "" : "s");
    }
}

static void print_all_well(FILE *out, const struct diagnosis *diagnosis)
{
    unsigned waiting = 0, gone = 0, unseen = 0;
    for (uint32_t i = 0; i < diagnosis->size; i++) {
        waiting += diagnosis->rank[i].wait_count > 0;
        gone += diagnosis->rank[i].state >= RH_PEER_LEFT;
        unseen += is_unseen(&diagnosis->rank[i]);
    }
    fprintf(out, "Nothing is stuck%s: %u ranks at work, %u waiting, %u gone.\n",
            unseen ? " as far as is seen from here" : "", diagnosis->size - waiting - gone - unseen,
            waiting, gone);
}

/* ---- Text ----------------------------------------------------------------------------------- */

static void print_ranks(FILE *out, const struct diagnosis *diagnosis)
{
    static const struct table_column columns[] = {
        {.title = "RANK", .is_number = true},
        {.title = "PID", .is_number = true, .rank = 1},
        {.title = "FOR", .is_number = true},
        {.title = "WHAT IT DOES"},
    };
    struct table *table = table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < diagnosis->size; i++) {
        const struct diagnosis_rank *rank = &diagnosis->rank[i];
        const struct diagnosis_wait *wait = oldest_wait(rank);
        struct diagnosis_text age = {.used = 0}, state = {.used = 0};
        if (wait)
            diagnosis_age_add(&age, diagnosis_age_s(diagnosis, wait));
        diagnosis_state_add(&state, diagnosis, (int)i, false);
        table_cell(table, "%u", i);
        table_cell(table, "%d", rank->pid);
        table_cell(table, "%s", age.text);
        table_cell(table, "%s", state.text);
    }
    table_print(table, out, terminal_width());
    table_destroy(table);
}

void doctor_print(FILE *out, const struct doctor_findings *findings)
{
    const struct job_snapshot *job = findings->job;
    fprintf(out, "Job %" PRIx64 ": %s, %u ranks on NIC %s\n\n", job->id,
            job->command[0] ? job->command : "(no name)", job->size, job->nic);
    print_ranks(out, findings->diagnosis);
    fputc('\n', out);
    print_deadlock(out, findings->diagnosis);
    print_stopped_and_dead(out, findings->diagnosis);
    print_long_waits(out, findings);
    print_unseen(out, findings->diagnosis);
    if (!doctor_is_stuck(doctor_verdict(findings)))
        print_all_well(out, findings->diagnosis);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *wait_json(const struct diagnosis *diagnosis, int rank,
                         const struct diagnosis_wait *wait)
{
    const struct wait_note *note = &wait->note;
    struct diagnosis_text line = {.used = 0};
    json_t *object = json_object();
    json_t *targets = json_array();
    diagnosis_wait_add(&line, diagnosis, rank, wait);
    for (uint32_t other = 0; diagnosis_is_directed(wait) && other < diagnosis->size; other++) {
        if (diagnosis_depends(diagnosis, rank, wait, (int)other))
            json_array_append_new(targets, json_integer(other));
    }
    json_put_text(object, "call", wait_spec(note->call)->name);
    json_put_text(object, "text", line.text);
    json_put_real(object, "seconds", diagnosis_age_s(diagnosis, wait));
    json_put_number(object, "peer", (uint64_t)(int64_t)note->peer); /* -1: any */
    json_put_number(object, "number", note->number);
    json_put_number(object, "length", note->length);
    json_put_number(object, "moved", note->moved);
    json_put_number(object, "thread", (uint64_t)wait->thread);
    json_put_flag(object, "idle", wait->is_idle);
    json_object_set_new(object, "waits_for", targets); /* empty: for any rank */
    return object;
}

static json_t *rank_json(const struct diagnosis *diagnosis, int which)
{
    static const char *const processes[] = {"unknown", "running", "sleeping", "stopped", "ended"};
    const struct diagnosis_rank *rank = &diagnosis->rank[which];
    struct diagnosis_text line = {.used = 0};
    json_t *object = json_object();
    json_t *waits = json_array();
    for (unsigned i = 0; i < rank->wait_count; i++)
        json_array_append_new(waits, wait_json(diagnosis, which, &rank->wait[i]));
    diagnosis_state_add(&line, diagnosis, which, false);
    json_put_number(object, "rank", (uint64_t)which);
    json_put_text(object, "state", job_state_name(rank->state));
    json_put_number(object, "pid", (uint64_t)rank->pid);
    json_put_text(object, "process", processes[rank->process.state]);
    json_put_text(object, "text", line.text);
    json_put_text(object, "host", rank->host);
    json_put_flag(object, "seen", rank->is_seen);
    json_put_flag(object, "deadlocked", rank->is_deadlocked);
    json_object_set_new(object, "waits", waits);
    return object;
}

json_t *doctor_json(const struct doctor_findings *findings)
{
    static const char *const verdicts[] = {"fine", "dead", "waiting", "stopped", "deadlock"};
    enum doctor_verdict verdict = doctor_verdict(findings);
    char id[24];
    snprintf(id, sizeof(id), "%" PRIx64, findings->job->id);
    json_t *object = json_object();
    json_t *ranks = json_array();
    for (uint32_t i = 0; i < findings->diagnosis->size; i++)
        json_array_append_new(ranks, rank_json(findings->diagnosis, (int)i));
    json_put_format(object, "doctor 1");
    json_put_text(object, "job", id);
    json_put_text(object, "command", findings->job->command);
    json_put_text(object, "verdict", verdicts[verdict]);
    json_put_flag(object, "stuck", doctor_is_stuck(verdict));
    json_object_set_new(object, "ranks", ranks);
    return object;
}

int doctor_json_print(FILE *out, const struct doctor_findings *findings)
{
    json_t *object = doctor_json(findings);
    int result = json_dumpf(object, out, JSON_COMPACT);
    json_decref(object);
    return result < 0 || fputc('\n', out) == EOF ? -1 : 0;
}

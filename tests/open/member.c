/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A member of an open job that does what it is told, line by line, and answers each line with one:
 * "ok ..." or "error CODE RANK text". Who tells it is tests/open/open_test.py.
 */
#include <rhinet/msg.h>
#include <rhinet/rma.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS 6
#define BYTES     4096

static struct rh_job *job;
static struct rh_msg *msg;
static char *memory;

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static void answer(int result, const char *text)
{
    if (result >= 0)
        printf("ok %s\n", text);
    else
        printf("error %d %d %s\n", -result, rh_error_rank(), rh_error_text());
    fflush(stdout);
}

static void answer_number(int result, long long value)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", value);
    answer(result, text);
}

static size_t from_hex(const char *hex, unsigned char *bytes)
{
    size_t count = 0;
    for (; hex[0] && hex[1] && count < BYTES; hex += 2, count++) {
        unsigned value = 0;
        sscanf(hex, "%2x", &value);
        bytes[count] = (unsigned char)value;
    }
    return count;
}

static void join(char **word)
{
    struct rh_join_options options = {.struct_size = sizeof(options),
                                      .unstarted = number(word[1]),
                                      .nic = word[2][0] ? word[2] : NULL};
    char text[64] = "";
    int result = rh_join(&job, &options);
    if (result == 0)
        snprintf(text, sizeof(text), "%d %d %llx", rh_rank(job), rh_size(job),
                 (unsigned long long)rh_job_id(job));
    answer(result, text);
}

static void leave(char **word)
{
    (void)word;
    if (msg)
        rh_msg_close(msg);
    msg = NULL;
    memory = NULL;
    answer(rh_leave(job), "");
    job = NULL;
}

static void address(char **word)
{
    unsigned char bytes[RH_ADDRESS_MAX];
    char hex[2 * RH_ADDRESS_MAX + 1] = "";
    size_t size = word[1][0] ? (size_t)number(word[1]) : sizeof(bytes);
    int result = rh_address(job, bytes, &size);
    for (size_t i = 0; result == 0 && i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    answer(result, hex);
}

static void peer(char **word)
{
    unsigned char bytes[BYTES];
    int rank = -1;
    size_t size = from_hex(word[1], bytes + 1); /* not aligned: an address lies anywhere */
    int result = rh_peer(job, bytes + 1, size, &rank);
    answer_number(result, rank);
}

static void alloc(char **word)
{
    answer(rh_segment_alloc(job, (rh_sid)number(word[1]), BYTES, (void **)&memory), "");
}

static void attach(char **word)
{
    static char own[BYTES];
    memory = own;
    answer(rh_segment_attach(job, (rh_sid)number(word[1]), own, sizeof(own)), "");
}

static void push(char **word)
{
    struct rh_remote target = rh_at(number(word[1]), (rh_sid)number(word[2]), 0);
    int result = rh_segment_wait(job, target.rank, target.sid, RH_MILLISECONDS(5000));
    if (result == 0)
        result = rh_push(job, target, word[3], strlen(word[3]) + 1);
    answer(result, "");
}

static void show(char **word)
{
    (void)word;
    answer(0, memory ? memory : "");
}

static void add(char **word)
{
    uint64_t old = 0;
    struct rh_remote word_at = rh_at(number(word[1]), (rh_sid)number(word[2]), 1024);
    int result = rh_fetch_add(job, word_at, strtoull(word[3], NULL, 10), &old);
    answer_number(result, (long long)old);
}

static void wait_any(char **word)
{
    static uint64_t never;
    struct rh_wait wait = {&never, RH_NOT_EQUAL, 0, number(word[1]),
                           RH_MILLISECONDS(number(word[2]))};
    answer(rh_wait_word(job, &wait), "");
}

static void mailbox(char **word)
{
    (void)word;
    answer(rh_msg_open(&msg, job), "");
}

/* send RANK TAG LENGTH: a pattern of the tag. */
static void send_message(char **word)
{
    size_t length = (size_t)number(word[3]);
    char *data = malloc(length + 1);
    memset(data, number(word[2]), length);
    answer(rh_send(msg, number(word[1]), number(word[2]), data, length), "");
    free(data);
}

/* receive RANK TAG LENGTH TIMEOUT */
static void receive_message(char **word)
{
    size_t length = (size_t)number(word[3]), wrong = 0;
    char *data = malloc(length + 1);
    struct rh_status status = {.source = -1};
    memset(data, 0, length);
    struct rh_request *request;
    int result = rh_irecv(msg, number(word[1]), number(word[2]), data, length, &request);
    if (result == 0)
        result = rh_wait_request(request, &status, RH_MILLISECONDS(number(word[4])));
    if (result == RH_ETIMEOUT) {
        answer(result, "");
        rh_cancel(request);
        free(data);
        return;
    }
    for (size_t i = 0; i < length; i++)
        wrong += data[i] != (char)number(word[2]);
    if (result == 0 && (wrong > 0 || status.length != length))
        printf("error 0 0 %zu bytes of %zu are wrong, %zu came\n", wrong, length,
               (size_t)status.length);
    else
        answer_number(result, status.source);
    fflush(stdout);
    free(data);
}

static void lock(char **word)
{
    answer(rh_lock(msg, (uint32_t)number(word[1]), RH_MILLISECONDS(number(word[2]))), "");
}

static void unlock(char **word)
{
    answer(rh_unlock(msg, (uint32_t)number(word[1])), "");
}

static void barrier_all(char **word)
{
    (void)word;
    answer(rh_barrier_all(job), "");
}

static void all_set(char **word)
{
    struct rh_set *set;
    (void)word;
    answer(rh_set_create(msg, NULL, &set), "");
}

static void state(char **word)
{
    int result = rh_peer_state(job, number(word[1]));
    answer_number(result, result);
}

static void acknowledge(char **word)
{
    (void)word;
    answer_number(0, rh_deaths_acknowledge(job));
}

/* Descriptors that this process has. */
static void descriptors(char **word)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    (void)word;
    while (folder && readdir(folder))
        count++;
    closedir(folder);
    answer_number(0, count);
}

/* churn TIMES: join and leave. */
static void churn(char **word)
{
    struct rh_join_options options = {.struct_size = sizeof(options),
                                      .unstarted = RH_UNSTARTED_OPEN};
    int highest = -1, result = 0;
    for (int i = 0; i < number(word[1]) && result == 0; i++) {
        struct rh_job *one;
        result = rh_join(&one, &options);
        if (result < 0)
            break;
        highest = rh_rank(one) > highest ? rh_rank(one) : highest;
        rh_leave(one);
    }
    answer_number(result, highest);
}

/* A child that goes on, with all that we have open. */
static void fork_child(char **word)
{
    int pid = fork();
    if (pid == 0) {
        sleep((unsigned)number(word[1]));
        _exit(0);
    }
    answer_number(0, pid);
}

/* twin ADDRESS SID: a child that executes nothing else joins too, and adds 1 where `add` does. */
static void twin(char **word)
{
    int status = -1, pid = fork();
    if (pid == 0) {
        struct rh_join_options options = {.struct_size = sizeof(options),
                                          .unstarted = RH_UNSTARTED_OPEN};
        unsigned char bytes[BYTES];
        uint64_t old;
        int rank;
        struct rh_job *own;
        size_t size = from_hex(word[1], bytes);
        _exit(rh_join(&own, &options) < 0 || rh_peer(own, bytes, size, &rank) < 0 ||
              rh_fetch_add(own, rh_at(rank, (rh_sid)number(word[2]), 1024), 1, &old) < 0 ||
              rh_leave(own) < 0);
    }
    waitpid(pid, &status, 0);
    answer_number(0, status);
}

static const struct {
    const char *name;
    void (*run)(char **word);
} commands[] = {{"join", join},
                {"leave", leave},
                {"address", address},
                {"peer", peer},
                {"alloc", alloc},
                {"attach", attach},
                {"push", push},
                {"show", show},
                {"add", add},
                {"wait", wait_any},
                {"mailbox", mailbox},
                {"send", send_message},
                {"lock", lock},
                {"unlock", unlock},
                {"receive", receive_message},
                {"state", state},
                {"churn", churn},
                {"acknowledge", acknowledge},
                {"twin", twin},
                {"fork", fork_child},
                {"set", all_set},
                {"descriptors", descriptors},
                {"barrier", barrier_all}};

static void obey(char *line)
{
    static char none[] = "";
    char *word[ARGUMENTS] = {none, none, none, none, none, none};
    int count = 0;
    for (char *at = strtok(line, " \n"); at && count < ARGUMENTS; at = strtok(NULL, " \n"))
        word[count++] = at;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(word[0], commands[i].name) == 0) {
            commands[i].run(word);
            return;
        }
    }
    printf("error 0 0 what is \"%s\"?\n", word[0]);
    fflush(stdout);
}

int main(void)
{
    static char line[2 * BYTES + 64];
    while (fgets(line, sizeof(line), stdin))
        obey(line);
    return 0;
}

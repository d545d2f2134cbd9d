/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From one table to another: the check of all mixed states against brute force, which goes through
 * every one of them, and the stages.
 */
#include "support.h"

#include "route/check/transition.h"
#include "route/repair/stages.h"

#include <stdlib.h>
#include <string.h>

#define SWITCHES_MAX 6
#define CHANGES_MAX  10
#define CHANNELS_MAX (SWITCHES_MAX * SWITCHES_MAX)

/* A table of a fixture that the test fills by itself: leads from one switch to a neighbour. */
static void lead(struct lft *lft, const struct fixture *fixture, const char *host_at,
                 const char *from, const char *to)
{
    uint32_t target = fixture->net->host_first[fixture_switch(fixture, host_at)];
    uint32_t channel = fixture_channel(fixture, from, to);
    lft_tree(lft, target)[fixture_switch(fixture, from)] = (uint8_t)net_slot_out(fixture->net,
                                                                                 channel);
}

static struct lft *empty_table(const struct fixture *fixture)
{
    struct lft *lft;
    assert_int_equal(lft_create(&lft, fixture->net), 0);
    for (uint32_t t = 0; t < fixture->net->target_count; t++)
        lft_tree(lft, t)[fixture->net->target_switch[t]] = LFT_HERE;
    return lft;
}

static struct transition_report transition(const struct fixture *fixture, const struct lft *before,
                                           const struct lft *after)
{
    struct lft_dump dumps[2];
    struct transition_report report;
    assert_int_equal(lft_export(&dumps[0], before), 0);
    assert_int_equal(lft_export(&dumps[1], after), 0);
    assert_int_equal(check_transition(fixture->fabric, &dumps[0], &dumps[1], &report), 0);
    lft_dump_free(&dumps[0]);
    lft_dump_free(&dumps[1]);
    return report;
}

static const char ring_text[] = "s0 s1\ns1 s2\ns2 s3\ns3 s0\n"
                                "hosts s0 1\nhosts s1 1\nhosts s2 1\nhosts s3 1\n";

/* Two switches change from one way round a triangle to the other: for a while each may send to the
 * other. Each table by itself is sound, and their own dependencies together have no cycle. */
static void test_circle_in_between(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_parse(&fixture, "a b\nb r\na r\nhosts a 1\nhosts b 1\nhosts r 1\n");
    struct lft *old = empty_table(&fixture), *new = empty_table(&fixture);
    lead(old, &fixture, "r", "a", "b");
    lead(old, &fixture, "r", "b", "r");
    lead(new, &fixture, "r", "a", "r");
    lead(new, &fixture, "r", "b", "a");
    struct transition_report report = transition(&fixture, old, new);
    assert_false(transition_safe(&report));
    assert_int_equal(report.lids_circling, 1);
    assert_int_equal(report.entries_changed, 2);
    assert_non_null(strstr(report.circle, "(2 switches in a circle)"));
    assert_non_null(strstr(report.circle, "'a'"));
    assert_non_null(strstr(report.circle, "'b'"));
    report = transition(&fixture, old, old);
    assert_true(transition_safe(&report));
    report = transition(&fixture, new, new);
    assert_true(transition_safe(&report));
    lft_destroy(old);
    lft_destroy(new);
    fixture_close(&fixture);
}

/* A ring of four: the old table turns right at two switches, the new one at the other two. */
static void ring_tables(const struct fixture *fixture, struct lft **old, struct lft **new)
{
    *old = empty_table(fixture);
    *new = empty_table(fixture);
    for (int i = 0; i < 4; i++) {
        char at[3], on[3], target[3], back[3];
        snprintf(at, sizeof(at), "s%d", i);
        snprintf(on, sizeof(on), "s%d", (i + 1) % 4);
        snprintf(target, sizeof(target), "s%d", (i + 2) % 4);
        snprintf(back, sizeof(back), "s%d", (i + 3) % 4);
        lead(*old, fixture, on, at, on);
        lead(*old, fixture, back, at, back);
        lead(*new, fixture, on, at, on);
        lead(*new, fixture, back, at, back);
        lead(i < 2 ? *old : *new, fixture, target, at, on);
        lead(i < 2 ? *new : *old, fixture, target, at, back);
    }
}

static void test_ring_deadlock_in_between(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lft *old, *new;
    fixture_parse(&fixture, ring_text);
    ring_tables(&fixture, &old, &new);
    struct transition_report report = transition(&fixture, old, old);
    assert_true(transition_safe(&report));
    report = transition(&fixture, new, new);
    assert_true(transition_safe(&report));
    report = transition(&fixture, old, new);
    assert_int_equal(report.lids_circling, 0);
    assert_false(report.loop_free);
    assert_non_null(strstr(report.witness, "(4 buffers in a circle)"));
    struct stages stages;
    struct lft_dump held, between, last;
    assert_int_equal(lft_export(&held, old), 0);
    assert_int_equal(stages_drain(&stages, &held, new), 0);
    assert_int_equal(stages.count, 2);
    assert_int_equal(stages.dropped, 4);
    assert_int_equal(stages_table(&stages, 1, &between), 0);
    assert_int_equal(stages_table(&stages, 2, &last), 0);
    assert_int_equal(check_transition(fixture.fabric, &held, &between, &report), 0);
    assert_true(transition_safe(&report));
    assert_int_equal(report.entries_changed, 4);
    assert_int_equal(check_transition(fixture.fabric, &between, &last, &report), 0);
    assert_true(transition_safe(&report));
    lft_dump_free(&held);
    lft_dump_free(&between);
    lft_dump_free(&last);
    stages_free(&stages);
    lft_destroy(old);
    lft_destroy(new);
    fixture_close(&fixture);
}

/* Brute force. */

struct change {
    uint32_t target, at;
};

struct brute {
    const struct net *net;
    const struct lft *old, *new;
    struct change changes[CHANGES_MAX];
    uint32_t count;
    struct lft *mixed;
    bool waits[CHANNELS_MAX][CHANNELS_MAX]; /* of all states together */
    bool circles;
    bool deadlock_in_one; /* a state deadlocks by itself */
};

static uint32_t changes_list(struct brute *brute)
{
    const struct net *net = brute->net;
    uint32_t count = 0;
    for (uint32_t t = 0; t < net->target_count; t++) {
        for (uint32_t s = 0; s < net->switch_count; s++) {
            if (lft_tree(brute->old, t)[s] == lft_tree(brute->new, t)[s])
                continue;
            if (count < CHANGES_MAX)
                brute->changes[count] = (struct change){t, s};
            count++;
        }
    }
    return count;
}

static bool reaches(bool waits[][CHANNELS_MAX], uint32_t channels)
{
    bool reach[CHANNELS_MAX][CHANNELS_MAX];
    memcpy(reach, waits, sizeof(reach));
    for (uint32_t k = 0; k < channels; k++) {
        for (uint32_t i = 0; i < channels; i++) {
            for (uint32_t j = 0; reach[i][k] && j < channels; j++)
                reach[i][j] = reach[i][j] || reach[k][j];
        }
    }
    for (uint32_t i = 0; i < channels; i++) {
        if (reach[i][i])
            return true;
    }
    return false;
}

/* Sends a packet from each switch to each target through one mixed state. */
static void state_try(struct brute *brute)
{
    const struct net *net = brute->net;
    bool waits[CHANNELS_MAX][CHANNELS_MAX] = {{false}};
    for (uint32_t t = 0; t < net->target_count; t++) {
        const uint8_t *next = lft_tree(brute->mixed, t);
        for (uint32_t s = 0; s < net->switch_count; s++) {
            bool host = net_has_hosts(net, s);
            if (!host && !net_has_hosts(net, net->target_switch[t]))
                continue; /* nothing is sent there */
            uint32_t at = s, steps = 0, in = UINT32_MAX;
            for (; next[at] < LFT_HERE && steps <= net->switch_count; steps++) {
                uint32_t out = net->first[at] + next[at];
                if (in != UINT32_MAX && host)
                    waits[in][out] = brute->waits[in][out] = true;
                in = out;
                at = net->head[out];
            }
            brute->circles = brute->circles || steps > net->switch_count;
        }
    }
    brute->deadlock_in_one = brute->deadlock_in_one || reaches(waits, net->channel_count);
}

static void states_try(struct brute *brute)
{
    assert_int_equal(lft_create(&brute->mixed, brute->net), 0);
    memcpy(brute->mixed->next, brute->old->next,
           (size_t)brute->net->target_count * brute->net->switch_count);
    for (uint32_t mask = 0; mask < 1u << brute->count; mask++) {
        for (uint32_t i = 0; i < brute->count; i++) {
            const struct change *change = &brute->changes[i];
            const struct lft *from = mask >> i & 1 ? brute->new : brute->old;
            lft_tree(brute->mixed,
                     change->target)[change->at] = lft_tree(from, change->target)[change->at];
        }
        state_try(brute);
    }
    lft_destroy(brute->mixed);
}

static uint64_t chance;

static uint32_t any(uint32_t below)
{
    chance = chance * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(chance >> 33) % below;
}

/* A ring with a few more cables; one switch in four has no host. */
static void fabric_make(struct fixture *fixture)
{
    char text[512];
    uint32_t switches = 4 + any(SWITCHES_MAX - 3);
    size_t used = 0;
    for (uint32_t i = 0; i < switches; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "s%u s%u\n", i,
                                 (i + 1) % switches);
    for (uint32_t i = 0; i < any(3); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "s%u s%u\n", i,
                                 (i + 2) % switches);
    for (uint32_t i = 0; i < switches; i++) {
        if (i == 0 || any(4) > 0)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "hosts s%u 1\n", i);
    }
    fixture_parse(fixture, text);
}

/* A random tree to a target: switches join in random order wherever a neighbour has joined. */
static void tree_make(const struct net *net, uint32_t target, uint8_t *next)
{
    memset(next, LFT_NONE, net->switch_count);
    next[net->target_switch[target]] = LFT_HERE;
    for (uint32_t joined = 1; joined < net->switch_count;) {
        uint32_t c = any(net->channel_count), at = net->tail[c];
        if (next[at] != LFT_NONE || next[net->head[c]] == LFT_NONE)
            continue;
        next[at] = (uint8_t)net_slot_out(net, c);
        joined++;
    }
}

/* Another tree for some targets; an entry may lead nowhere, as after a failure. */
static bool tables_make(struct brute *brute, struct lft *old, struct lft *new)
{
    const struct net *net = brute->net;
    for (uint32_t t = 0; t < net->target_count; t++)
        tree_make(net, t, lft_tree(old, t));
    memcpy(new->next, old->next, (size_t)net->target_count * net->switch_count);
    for (uint32_t i = 0; i < 1 + any(4); i++) {
        uint32_t target = any(net->target_count);
        tree_make(net, target, lft_tree(new, target));
    }
    uint32_t target = any(net->target_count), at = any(net->switch_count);
    if (any(2) == 0 && at != net->target_switch[target])
        lft_tree(old, target)[at] = LFT_NONE;
    brute->old = old;
    brute->new = new;
    brute->count = changes_list(brute);
    return brute->count <= CHANGES_MAX;
}

struct tally {
    uint32_t tried, safe, circles, deadlocks, deadlocks_in_one;
    uint32_t only_mixed; /* each table is safe by itself, not the way from one to the other */
};

static void case_compare(const struct fixture *fixture, struct brute *brute, struct tally *tally)
{
    states_try(brute);
    struct transition_report report = transition(fixture, brute->old, brute->new);
    bool deadlock = reaches(brute->waits, brute->net->channel_count);
    assert_int_equal(report.entries_changed, brute->count);
    assert_int_equal(report.lids_circling > 0, brute->circles);
    if (!brute->circles) /* with one, more ways lead through the union than any state has */
        assert_int_equal(!report.loop_free, deadlock);
    else if (deadlock)
        assert_false(report.loop_free);
    tally->tried++;
    tally->safe += transition_safe(&report);
    tally->circles += brute->circles;
    tally->deadlocks += deadlock && !brute->circles;
    struct transition_report old = transition(fixture, brute->old, brute->old);
    struct transition_report new = transition(fixture, brute->new, brute->new);
    tally->only_mixed += transition_safe(&old) && transition_safe(&new) &&
                         !transition_safe(&report);
    tally->deadlocks_in_one += brute->deadlock_in_one && !brute->circles;
}

static void test_agrees_with_brute_force(void **state)
{
    (void)state;
    struct tally tally = {0};
    chance = 1;
    while (tally.tried < 400) {
        struct fixture fixture;
        fabric_make(&fixture);
        struct brute *brute = calloc(1, sizeof(*brute));
        struct lft *old = empty_table(&fixture), *new = empty_table(&fixture);
        assert_non_null(brute);
        assert_true(fixture.net->channel_count <= CHANNELS_MAX);
        brute->net = fixture.net;
        if (tables_make(brute, old, new))
            case_compare(&fixture, brute, &tally);
        lft_destroy(old);
        lft_destroy(new);
        free(brute);
        fixture_close(&fixture);
    }
    /* all kinds were among them */
    assert_true(tally.safe > 20 && tally.circles > 20 && tally.deadlocks > 20);
    assert_true(tally.only_mixed > 20);
    assert_true(tally.deadlocks_in_one > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_circle_in_between),
        cmocka_unit_test(test_ring_deadlock_in_between),
        cmocka_unit_test(test_agrees_with_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

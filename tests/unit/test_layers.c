/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the layers have by name: no list is longer than its numbers or has a gap, no SID belongs to
 * two, and every wait can be put into words, whatever a board says.
 */
#include "dsm/dsm_layer.h"
#include "msg/msg_layer.h"
#include "nic/nic_layer.h"
#include "rma/rma_layer.h"
#include "unit.h"
#include "watch/diagnosis.h"

#include <ctype.h>
#include <rhinet/rma.h>
#include <string.h>

static void test_lists(void **state)
{
    (void)state;
    for (int i = 0; i < LAYER_COUNT; i++) {
        const struct layer *layer = layers[i];
        assert_in_range(layer->setting_count, 0, LAYER_SETTINGS);
        assert_in_range(layer->counter_count, 0, LAYER_NUMBERS);
        assert_in_range(layer->wait_count, 0, LAYER_NUMBERS);
    }
    assert_null(layer_of(LAYER_NUMBERS_COUNT));
    assert_null(wait_spec(BOARD_NOTHING));
}

static void test_sids(void **state)
{
    (void)state;
    for (int i = 0; i < LAYER_COUNT; i++) {
        const struct layer *layer = layers[i];
        if (!layer->sid_name)
            continue;
        assert_true(layer->sid_first >= RH_SID_RESERVED && layer->sid_first <= layer->sid_last);
        assert_ptr_equal(layer_of_sid(layer->sid_first), layer);
        assert_ptr_equal(layer_of_sid(layer->sid_last), layer);
        for (int k = 0; k < LAYER_COUNT; k++) {
            bool is_apart = k == i || !layers[k]->sid_name ||
                            layers[k]->sid_first > layer->sid_last ||
                            layers[k]->sid_last < layer->sid_first;
            if (!is_apart)
                fail_msg("%s and %s share SIDs", layer->sid_name, layers[k]->sid_name);
        }
    }
    assert_null(layer_of_sid(0));
    assert_null(layer_of_sid(RH_SID_RESERVED - 1));
    assert_ptr_equal(layer_of_sid(RH_SID_RESERVED), layers[LAYER_MSG]);
}

/* Fields are known, brackets are in pairs and have one in them. */
static void check_text(const struct wait_spec *spec)
{
    const char *open = NULL;
    for (const char *at = spec->text; *at; at++) {
        if (*at == '%' && !(at[1] && strchr("nlmrsqc", *++at)))
            fail_msg("%s: what is %%%c?", spec->name, *at);
        if (*at == '[') {
            assert_null(open);
            open = at;
        }
        if (*at == ']') {
            assert_non_null(open);
            const char *field = memchr(open, '%', (size_t)(at - open));
            if (!field || !strchr("nmr", field[1]))
                fail_msg("%s: what decides whether %s is said?", spec->name, open);
            open = NULL;
        }
    }
    assert_null(open);
    assert_true((spec->choices != NULL) == (strstr(spec->text, "%c") != NULL));
}

static void test_waits(void **state)
{
    (void)state;
    unsigned count = 0;
    for (uint32_t call = 0; call < LAYER_NUMBERS_COUNT; call++) {
        const struct wait_spec *spec = wait_spec(call);
        if (!spec)
            continue;
        count++;
        if (!spec->name || !spec->text)
            fail_msg("wait %u has no name or no text", call);
        for (const char *at = spec->name; *at; at++)
            assert_true(islower((unsigned char)*at));
        check_text(spec);
        assert_true((spec->on == WAIT_ON_GROUP) == (spec->group != NULL));
        for (uint32_t other = 0; other < call; other++) {
            if (wait_spec(other))
                assert_string_not_equal(wait_spec(other)->name, spec->name);
        }
    }
    assert_true(count > 10);
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        struct wait_note note;
        const char *text;
    } cases[] = {
        {{WAIT_WORD, 2, .number = 5, .length = RH_AT_LEAST, .moved = 4},
         "rh_wait_word from rank 2, word is 4 and should be at least 5"},
        {{WAIT_WORD, -1, .number = 5, .length = RH_NOT_EQUAL, .moved = 5},
         "rh_wait_word from any rank, word is 5 and should be something else than 5"},
        {{WAIT_WORD, 0, .number = 1, .length = RH_EQUAL},
         "rh_wait_word from rank 0, word is 0 and should be exactly 1"},
        {{WAIT_WORD, 0, .length = UINT64_MAX}, /* no such condition */
         "rh_wait_word from rank 0, word is 0 and should be at least 0"},
        {{WAIT_UNTIL, -1, .number = 0}, "rh_wait_until from any rank"},
        {{WAIT_DONE, 3, .number = 0}, "rh_wait_done from rank 3"},
        {{WAIT_TRANSFER, 1, .number = 7, .length = 64}, "copy of 64 bytes of segment 7 by rank 1"},
        {{WAIT_DETACH, 1, .number = 7}, "detach of segment 7, which rank 1 is copying"},
        {{WAIT_APPEND, 1, .number = 9}, "append to queue 9 of rank 1, which is full"},
        {{WAIT_APPEND, 1, .number = MSG_SID_INBOX},
         "append to the mailbox of rank 1, which is full"},
        {{WAIT_QUEUE, -1, .number = 9}, "rh_queue_next of queue 9, which is empty"},
        {{WAIT_SEGMENT, 1, .number = 7}, "rh_segment_wait for segment 7 of rank 1"},
        {{WAIT_EXCHANGE, 1, .number = 7, .length = 3}, "rh_exchange 3 of segment 7 with rank 1"},
        {{WAIT_SEGMENT, 1, .number = MSG_SID_SETS}, "rh_segment_wait for the mailbox of rank 1"},
        {{WAIT_SEGMENT, 1, .number = DSM_SID_HEAP},
         "rh_segment_wait for the shared memory of rank 1"},
        {{WAIT_SEGMENT, 1, .number = 1ULL << 40},
         "rh_segment_wait for segment 1099511627776 of rank 1"},
        {{WAIT_SEND, 1, .number = 7, .length = 64}, "send to rank 1, tag 7, 64 bytes"},
        {{WAIT_SEND, 1, .number = 7, .length = 64, .moved = 8},
         "send to rank 1, tag 7, 64 bytes, 8 moved"},
        {{WAIT_RECEIVE, -1, .number = UINT64_MAX}, "receive from any rank, any tag"},
        {{WAIT_RECEIVE, 2, .number = 0, .moved = 3}, "receive from rank 2, tag 0, 3 moved"},
        {{WAIT_REQUESTS, -1, .number = 3}, "rh_wait_any of 3 requests"},
        {{WAIT_PROBE, 4, .number = 1}, "probe for a message from rank 4, tag 1"},
        {{WAIT_LOCK, 2, .number = 7}, "lock 7, held by rank 2"},
        {{WAIT_LOCK, -1, .number = 7}, "lock 7"},
        {{WAIT_BARRIER, -1, .number = 6, .length = 2}, "barrier of set 6"},
        {{WAIT_COLLECTIVE, -1, .number = 6}, "collective of set 6"},
        {{WAIT_VARIABLE, 1, .number = 12}, "variable 12, held by rank 1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct diagnosis_text line = {.used = 0};
        diagnosis_note_add(&line, &cases[i].note);
        assert_string_equal(line.text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_sids),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}

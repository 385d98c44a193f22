#include "data/pairs.h"

#include <assert.h>

const char *pair_reason_name(PairReason reason)
{
    static const char *const NAMES[PAIR_REASONS] = {
        [PAIR_UNCHOSEN] = "couplet not chosen",
        [PAIR_MARKED] = "mark within a line",
        [PAIR_FOREIGN] = "not Han",
        [PAIR_DUPLICATE] = "duplicate",
        [PAIR_LINE_ELSEWHERE] = "line in another part",
    };
    return NAMES[reason];
}

PairLines pair_lines(const PairSet *set, int64_t pair)
{
    assert(pair >= 0 && pair < set->pairs);
    uint64_t start = set->offsets[pair];
    int64_t body = (int64_t)(set->offsets[pair + 1] - start) - 2; /* <bos>, <eos> */
    const uint16_t *upper = set->ids + start + 1;
    return (PairLines){.upper = upper, .lower = upper + body / 2, .length = body / 2};
}

static bool is_regulated(Form form)
{
    return form == FORM_WULU || form == FORM_QILU;
}

int pair_couplets(Form form)
{
    return is_regulated(form) ? 4 : 2;
}

Form pair_form(int64_t length, bool regulated)
{
    if (length == PAIR_LONGEST)
        return regulated ? FORM_QILU : FORM_QIJUE;
    return regulated ? FORM_WULU : FORM_WUJUE;
}

uint32_t pair_origin_pack(int64_t poem, bool regulated, int couplet)
{
    assert(poem >= 0 && poem <= PAIR_POEMS_MAXIMUM);
    assert(couplet >= 0 && couplet < PAIR_COUPLETS);
    return (uint32_t)poem * 8 + (regulated ? 4 : 0) + (uint32_t)couplet;
}

PairOrigin pair_origin(const PairSet *set, int64_t pair)
{
    assert(pair >= 0 && pair < set->pairs);
    uint32_t origin = set->origins[pair];
    return (PairOrigin){.poem = origin / 8,
                        .form =
                            pair_form(pair_lines(set, pair).length, (origin & 4) != 0),
                        .couplet = (int)(origin % 4)};
}

bool pair_couplet_parallel(Form form, int couplet)
{
    return is_regulated(form) && (couplet == 1 || couplet == 2);
}

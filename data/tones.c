#include "data/tones.h"

#include "data/tones_table.h"

static Tone look_up(const uint64_t *words, uint32_t index)
{
    return (Tone)(words[index / TONES_A_WORD] >> 2 * (index % TONES_A_WORD) & 3);
}

Tone tone_find(uint32_t point)
{
    if (point >= TONES_BASIC_FIRST && point <= TONES_BASIC_LAST)
        return look_up(TONES_BASIC, point - TONES_BASIC_FIRST);
    if (point >= TONES_EXTENSION_B_FIRST && point <= TONES_EXTENSION_B_LAST)
        return look_up(TONES_EXTENSION_B, point - TONES_EXTENSION_B_FIRST);
    return TONE_UNKNOWN;
}

bool tones_opposite(Tone a, Tone b)
{
    return ((a & TONE_LEVEL) != 0 && (b & TONE_OBLIQUE) != 0) ||
           ((a & TONE_OBLIQUE) != 0 && (b & TONE_LEVEL) != 0);
}

void tone_tally_add(ToneTally *tally, const uint32_t *upper, const uint32_t *lower,
                    size_t length)
{
    bool clash = false, unknown = false;
    for (size_t i = 0; i < TONE_PLACES; i++) {
        size_t place = 2 * i + 1; /* counted from 0 */
        if (place >= length)
            break;
        Tone a = tone_find(upper[place]);
        Tone b = tone_find(lower[place]);
        bool opposite = tones_opposite(a, b);
        bool known = a != TONE_UNKNOWN && b != TONE_UNKNOWN;
        tally->known[i] += known;
        tally->opposite_at[i] += opposite;
        clash = clash || (known && !opposite);
        unknown = unknown || !known;
    }
    tally->pairs++;
    tally->opposite += !clash && !unknown;
    tally->undecided += !clash && unknown;
}

void tone_tally_join(ToneTally *tally, const ToneTally *other)
{
    tally->pairs += other->pairs;
    tally->opposite += other->opposite;
    tally->undecided += other->undecided;
    for (int i = 0; i < TONE_PLACES; i++) {
        tally->known[i] += other->known[i];
        tally->opposite_at[i] += other->opposite_at[i];
    }
}

double tone_tally_share(const ToneTally *tally)
{
    int64_t decided = tally->pairs - tally->undecided;
    return decided > 0 ? (double)tally->opposite / (double)decided : 0;
}

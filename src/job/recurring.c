#include "job/recurring.h"

#include <assert.h>
#include <openssl/evp.h>

#include "base/hex.h"
#include "base/timestamp.h"
#include "job/job_id.h"

enum { DIGEST_BYTES = 20 };

bool recurring_id_is_valid(struct slice id)
{
    return id.size <= RECURRING_ID_MAX && job_id_is_valid(id);
}

void recurring_fini(struct recurring *recurring)
{
    buffer_fini(&recurring->text);
}

/* ---- words ---- */

static const struct slice misfire_words[] = {
    [MISFIRE_ONE] = SLICE_INIT("one"),
    [MISFIRE_SKIP] = SLICE_INIT("skip"),
    [MISFIRE_ALL] = SLICE_INIT("all"),
};
static const struct slice overlap_words[] = {
    [OVERLAP_ALLOW] = SLICE_INIT("allow"),
    [OVERLAP_SKIP] = SLICE_INIT("skip"),
};

/* Returns the index of a word, or -1. */
static int find_in(const struct slice *words, int count, struct slice text)
{
    for (int i = 0; i < count; i++)
        if (slice_equal(words[i], text))
            return i;
    return -1;
}

#define FIND_IN(words, text) find_in(words, sizeof words / sizeof *words, text)

bool misfire_parse(struct slice text, enum misfire *misfire)
{
    int found = FIND_IN(misfire_words, text);
    *misfire = found < 0 ? MISFIRE_ONE : (enum misfire)found;
    return found >= 0;
}

bool overlap_parse(struct slice text, enum overlap *overlap)
{
    int found = FIND_IN(overlap_words, text);
    *overlap = found < 0 ? OVERLAP_ALLOW : (enum overlap)found;
    return found >= 0;
}

struct slice misfire_word(enum misfire misfire)
{
    return misfire_words[misfire];
}

struct slice overlap_word(enum overlap overlap)
{
    return overlap_words[overlap];
}

enum misfire recurring_misfire(const struct recurring *recurring)
{
    enum misfire misfire;
    (void)misfire_parse(recurring->misfire_word, &misfire);
    return misfire;
}

enum overlap recurring_overlap(const struct recurring *recurring)
{
    enum overlap overlap;
    (void)overlap_parse(recurring->overlap_word, &overlap);
    return overlap;
}

void recurring_tag(struct slice record, char tag[RECURRING_TAG_SIZE])
{
    unsigned char digest[DIGEST_BYTES];
    size_t size = 0;
    int ok = EVP_Q_digest(NULL, "SHA1", NULL, record.data ? record.data : "", record.size, digest, &size);
    assert(ok && size == DIGEST_BYTES);
    hex_write(tag, digest, DIGEST_BYTES);
    tag[RECURRING_TAG_SIZE - 1] = '\0';
}

/* ---- times ---- */

void recurring_recurrence(const struct recurring *recurring, struct slice id, const struct time_zone *zone,
                          struct recurrence *recurrence)
{
    int64_t created_ms = recurring->created_ms;
    assert(created_ms);
    *recurrence = (struct recurrence){
        .every_ms = recurring->every_ms,
        .cron = recurring->cron,
        .zone = zone,
        .base_ms = recurring->has_start_at ? recurring->start_at_ms : created_ms,
        /* Without startAt, the first time is later than the creation. */
        .first_ms = recurring->has_start_at ? recurring->start_at_ms : created_ms + 1,
        .last_ms = recurring->has_end_at ? recurring->end_at_ms : RECURRENCE_NEVER_MS,
        .jitter_ms = recurring->jitter_ms,
        .seed = recurrence_seed(id),
        .grace_ms = recurring->grace_ms,
        .misfire = recurring_misfire(recurring),
    };
}

struct slice recurring_base(const struct recurring *recurring, struct slice id)
{
    struct slice topic, into_topic, name;
    if (recurring->into.size == 0)
        return id;
    slice_cut(id, '/', &topic, &name);
    bool is_near = job_key_parse(recurring->into, &into_topic, &name) &&
                   slice_equal(topic_owner(topic), topic_owner(into_topic));
    return is_near ? recurring->into : SLICE("");
}

void recurring_occurrence_id(struct slice base, int64_t time_ms, struct buffer *out)
{
    char text[TIMESTAMP_SIZE];
    timestamp_format(time_ms, text);
    buffer_append(out, base);
    buffer_printf(out, "~%.4s%.2s%.5s%.2s%.2s", text, text + 5, text + 8, text + 14, text + 17);
    if (time_ms % 1000)
        buffer_append(out, slice_from(text + 19, 4));
    buffer_append_byte(out, 'Z');
}

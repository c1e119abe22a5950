#include "fuzz.h"
#include "job/text/json.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_sealed.h"
#include "job/topic/topic_settings.h"

static struct topic_settings settings;
static struct job_errors errors;

/* Seals the text, reads it, and writes it. */
static void seal_and_open(struct slice text, struct buffer *out)
{
    struct buffer sealed;
    buffer_init(&sealed, TOPIC_STORED_BYTES_MAX);
    topic_settings_seal(SLICE("orders"), text, &sealed);
    enum status status = topic_settings_read_for(SLICE("orders"), buffer_slice(&sealed), &settings);
    assert(!sealed.failed && status == STATUS_OK && settings.lacks.size == 0);
    topic_settings_write(&settings, out);
    topic_settings_fini(&settings);
    buffer_fini(&sealed);
}

/* Settings that were sealed must be readable. A second time, the text stays the same; the first time, spaces
 * in unknown members may get lost. Without keys, the text stays as it is. */
static void check_sealed(struct slice text)
{
    static const char *const own[] = {"\"of\"", "\"sealed\""}; /* names that only sealed texts have */
    struct seal_keys *keys;
    struct problem ignored;
    struct buffer once, again;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (memmem(text.data, text.size, own[i], strlen(own[i])))
            return;
    enum status status = seal_keys_parse(
        SLICE("1111111111111111111111111111111111111111111111111111111111111111"), &keys, &ignored);
    assert(status == STATUS_OK);
    buffer_init(&once, TOPIC_STORED_BYTES_MAX);
    buffer_init(&again, TOPIC_STORED_BYTES_MAX);
    topic_settings_seal(SLICE("orders"), text, &once);
    assert(slice_equal(text, buffer_slice(&once)));
    buffer_clear(&once);
    seal_use(keys, false);
    seal_and_open(text, &once);
    seal_and_open(buffer_slice(&once), &again);
    assert(slice_equal(buffer_slice(&once), buffer_slice(&again)));
    seal_use(NULL, false);
    seal_keys_free(keys);
    buffer_fini(&once);
    buffer_fini(&again);
}

/* The text of accepted settings must be readable, and be written as the same text again. */
static void check_text(struct slice text)
{
    struct buffer again;
    if (text.size == 0)
        return;
    buffer_init(&again, TOPIC_SETTINGS_BYTES_MAX);
    enum status status = topic_settings_read(text, &settings);
    assert(status == STATUS_OK && settings.is_paused <= (topic_settings_service(text) != TOPIC_SERVED));
    topic_settings_write(&settings, &again);
    assert(slice_equal(text, buffer_slice(&again)));
    topic_settings_fini(&settings);
    buffer_fini(&again);
    check_sealed(text);
}

static void check_shown(void)
{
    static const struct json_limits limits = {8, 100};
    struct json_fault fault;
    struct buffer shown;
    buffer_init(&shown, 2 * TOPIC_SETTINGS_BYTES_MAX);
    topic_settings_show(&settings, &shown);
    assert(shown.size == 0 || json_check(buffer_slice(&shown), &limits, &fault) == STATUS_OK);
    buffer_fini(&shown);
}

/* The text of accepted settings, which any version may have written, must be readable, and be written as the
 * same text. */
static void check_kept(struct slice kept)
{
    struct buffer text;
    if (topic_settings_read(kept, &settings) != STATUS_OK)
        return;
    if (settings.lacks.size) { /* settings whose "needs" list an unknown feature must not be written */
        topic_settings_fini(&settings);
        return;
    }
    buffer_init(&text, TOPIC_SETTINGS_BYTES_MAX);
    topic_settings_write(&settings, &text);
    check_shown();
    topic_settings_fini(&settings);
    if (!text.failed)
        check_text(buffer_slice(&text));
    buffer_fini(&text);
}

/* The text of patched settings must be read and written as the same text. */
static void check_patch(struct slice patch, struct buffer *merged)
{
    static struct topic_settings patched;
    struct buffer text;
    enum status status = topic_settings_patch(&settings, patch, merged, &patched, &errors);
    assert((status == STATUS_INVALID) == (errors.count > 0));
    if (status != STATUS_OK)
        return;
    buffer_init(&text, TOPIC_SETTINGS_BYTES_MAX);
    topic_settings_write(&patched, &text);
    topic_settings_fini(&patched);
    if (!text.failed)
        check_text(buffer_slice(&text));
    buffer_fini(&text);
}

/* Merges and reads layers of any two texts, which must not crash. */
static void check_layers(struct slice own, struct slice common)
{
    struct buffer text, from;
    buffer_init(&text, TOPIC_LAYERS_BYTES_MAX);
    buffer_init(&from, TOPIC_LAYERS_BYTES_MAX);
    if (topic_layers_merge(own, common, SLICE("orders-*"), &text))
        (void)topic_settings_service(buffer_slice(&text));
    topic_layers_show_from(&(struct topic_layers){buffer_slice(&text), own, SLICE("orders-*")},
                           &topic_settings_members, &from);
    buffer_clear(&text);
    if (topic_layers_own(common, &text))
        (void)topic_settings_service(buffer_slice(&text));
    buffer_clear(&text);
    buffer_append(&text, SLICE("["));
    buffer_append(&text, own);
    buffer_append(&text, SLICE(","));
    buffer_append(&text, common);
    buffer_append(&text, SLICE("]"));
    (void)topic_settings_service(buffer_slice(&text));
    buffer_fini(&text);
    buffer_fini(&from);
}

/* Input: a line with settings, then a patch for them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice first, patch;
    struct buffer text, merged;
    slice_cut(input_of(data, size), '\n', &first, &patch);
    check_kept(first);
    check_layers(first, patch);
    if (topic_settings_parse(first, &settings, &errors) != STATUS_OK) {
        assert(errors.count > 0);
        return 0;
    }
    buffer_init(&text, TOPIC_SETTINGS_BYTES_MAX);
    buffer_init(&merged, TOPIC_SETTINGS_BYTES_MAX);
    topic_settings_write(&settings, &text);
    check_shown();
    check_patch(patch, &merged);
    topic_settings_fini(&settings);
    if (!text.failed)
        check_text(buffer_slice(&text));
    buffer_fini(&merged);
    buffer_fini(&text);
    return 0;
}

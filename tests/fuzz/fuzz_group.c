#include "fuzz.h"
#include "job/group.h"
#include "job/group_sealed.h"

static struct job_errors errors;
static struct group_walk walk;

static void check_shown(struct slice text)
{
    static const struct json_limits limits = {8, 1000};
    struct json_fault fault;
    struct buffer shown;
    buffer_init(&shown, 8 * GROUP_BYTES_MAX);
    struct json_writer json = json_writer_to(&shown);
    group_show_endpoints(text, &json);
    assert(json_check(buffer_slice(&shown), &limits, &fault) == STATUS_OK);
    buffer_fini(&shown);
}

/* Seals the text, and writes it after an empty patch. */
static void seal_and_open(struct slice text, struct buffer *out)
{
    struct buffer sealed;
    buffer_init(&sealed, 2 * GROUP_BYTES_MAX);
    group_seal(SLICE("g"), text, &sealed);
    enum status status = group_patch(buffer_slice(&sealed), SLICE("{}"), out, &errors);
    assert(!sealed.failed && status == STATUS_OK && !out->failed);
    buffer_fini(&sealed);
}

/* A group that was sealed must be readable. A second time, the text stays the same; the first time, spaces in
 * unknown members may get lost. Without keys, the text stays as it is. */
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
    buffer_init(&once, 2 * GROUP_BYTES_MAX);
    buffer_init(&again, 2 * GROUP_BYTES_MAX);
    group_seal(SLICE("g"), text, &once);
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

/* An accepted text must be readable again, have valid endpoints, and stay the same after an empty patch. */
static void check_text(struct slice text)
{
    struct group group;
    struct buffer again;
    size_t count = 0;
    enum status status = group_read(text, &group);
    assert(status == STATUS_OK && group.lacks.size == 0);
    group_walk_init(&walk, &group);
    while (group_walk_next(&walk)) {
        static struct job job;
        job = (struct job){.has_headers = false};
        assert(lies_in(walk.name, text) && walk.endpoint.url.size > 0);
        assert(group_endpoint_apply(&walk.endpoint, &job) && job.url.size > 0);
        count++;
    }
    assert(walk.status == STATUS_OK && count == group.count && count <= GROUP_ENDPOINTS_MAX);
    group_walk_fini(&walk);
    check_shown(text);
    buffer_init(&again, 2 * GROUP_BYTES_MAX);
    status = group_patch(text, SLICE("{}"), &again, &errors);
    assert(status == STATUS_OK && slice_equal(text, buffer_slice(&again)));
    group_fini(&group);
    buffer_fini(&again);
    check_sealed(text);
}

static bool is_group(struct slice text)
{
    struct group group;
    if (group_read(text, &group) != STATUS_OK)
        return false;
    group_fini(&group);
    return true;
}

static void check_patch(struct slice old, struct slice patch)
{
    struct buffer text;
    buffer_init(&text, 2 * GROUP_BYTES_MAX);
    enum status status = group_patch(old, patch, &text, &errors);
    assert(status != STATUS_INVALID || errors.count > 0 || !is_group(old));
    if (status == STATUS_OK && errors.count == 0) {
        struct group group;
        status = group_read(buffer_slice(&text), &group);
        assert(status == STATUS_OK);
        if (group.lacks.size == 0)
            check_text(buffer_slice(&text));
        group_fini(&group);
    }
    buffer_fini(&text);
}

/* Input: a line with a group, then a patch for this group. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice first, patch;
    struct buffer text;
    if (size > GROUP_BYTES_MAX / 4)
        return 0;
    slice_cut(input_of(data, size), '\n', &first, &patch);
    check_shown(first);
    check_patch(first, patch);
    buffer_init(&text, 2 * GROUP_BYTES_MAX);
    if (group_parse(first, &text, &errors) == STATUS_OK) {
        check_text(buffer_slice(&text));
        check_patch(buffer_slice(&text), patch);
    } else {
        assert(errors.count > 0);
    }
    buffer_fini(&text);
    return 0;
}

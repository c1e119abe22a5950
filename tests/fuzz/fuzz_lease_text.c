#include "fuzz.h"
#include "job/job_id.h"
#include "job/job_parse.h"
#include "job/lease_text.h"

static struct job_errors errors;

static void check_status(enum status status)
{
    assert(status == STATUS_OK || status == STATUS_INVALID);
    assert((status == STATUS_OK) == (errors.count == 0));
}

static void check_request(struct slice text)
{
    struct lease_request request;
    enum status status = lease_request_parse(text, &request, &errors);
    check_status(status);
    if (status != STATUS_OK)
        return;
    assert(request.max >= 1 && request.max <= LEASE_JOBS_MAX);
    assert(request.lease_ms >= LEASE_MIN_MS && request.lease_ms <= LEASE_MAX_MS);
    assert(request.wait_ms >= 0 && request.wait_ms <= LEASE_WAIT_MAX_MS);
}

static void check_end(enum lease_end_kind kind, struct slice text)
{
    struct lease_end_text end;
    enum status status = lease_end_parse(kind, text, &end, &errors);
    check_status(status);
    if (status != STATUS_OK)
        return;
    struct slice room = buffer_slice(&end.text);
    assert(job_id_is_valid(end.job_id) && (lies_in(end.job_id, text) || lies_in(end.job_id, room)));
    assert(end.token.size >= 1 && end.token.size <= LEASE_TOKEN_MAX);
    assert(lies_in(end.token, text) || lies_in(end.token, room));
    assert(end.error.size <= LEASE_ERROR_MAX && (lies_in(end.error, text) || lies_in(end.error, room)));
    assert(kind == LEASE_END_RETRY || kind == LEASE_END_BURY || end.error.size == 0);
    assert(kind == LEASE_END_RETRY || !end.has_delay);
    assert(end.delay_ms >= 0 && end.delay_ms <= JOB_WAIT_MAX_MS);
    if (kind == LEASE_END_EXTEND)
        assert(end.lease_ms >= LEASE_MIN_MS && end.lease_ms <= LEASE_MAX_MS);
    lease_end_fini(&end);
}

/* The items of an array must be parts of the text, one after another. */
static void check_ends(enum lease_end_kind kind, struct slice text)
{
    static struct lease_end_items items;
    const char *at = text.data;
    enum status status = lease_ends_cut(text, &items, &errors);
    check_status(status);
    assert(status != STATUS_INVALID || errors.count == 1);
    if (status != STATUS_OK)
        return;
    assert(items.count >= 1 && items.count <= LEASE_JOBS_MAX);
    for (size_t i = 0; i < items.count; i++) {
        assert(lies_in(items.items[i], text) && items.items[i].data >= at);
        at = items.items[i].data + items.items[i].size;
        check_end(kind, items.items[i]);
    }
}

/* Input: a byte that selects a request for jobs or a kind of end of a lease, then the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned kind = data[0] % (LEASE_END_COUNT + 1);
    struct slice text = input_of(data + 1, size - 1);
    if (kind == LEASE_END_COUNT)
        check_request(text);
    else if (lease_ends_are_many(text))
        check_ends(kind, text);
    else
        check_end(kind, text);
    return 0;
}

/* A second dialect, with its own table and its own errors. It uses the use cases and http/ unchanged.
 *
 *     POST /publish/<topic>?to=<url>   schedules a job with the body as text, answers {"messageId":"..."}
 *
 * A fake store keeps one call, and answers it in the next turn of the loop. The server runs in a thread of
 * its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "app/jobs.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"
#include "http/exchange.h"
#include "http/query.h"
#include "http/route.h"
#include "http/site.h"
#include "io/http/limits.h"
#include "io/loop.h"
#include "job/target/target.h"
#include "job/token.h"
#include "store/store.h"
#include "support/errors.h"
#include "support/suite.h"
#include "support/wire.h"

/* ---- the store ---- */

struct store {
    struct timer *timer;
    _Atomic enum status status; /* status of the next answer */
    char record[1024];
    atomic_bool has_record; /* the test may read the record */
    store_scheduled_fn *fn;
    void *arg;
};

static void answer_schedule(void *arg)
{
    struct store *store = arg;
    store->fn(store->arg, store->status, 61000, NULL);
}

void store_schedule(struct store *store, const struct store_schedule *call, store_scheduled_fn *fn, void *arg)
{
    snprintf(store->record, sizeof store->record, "%.*s", SLICE_ARG(call->record));
    store->has_record = true;
    store->fn = fn;
    store->arg = arg;
    timer_start(store->timer, 0);
}

void store_replace(struct store *store, const struct store_replace *job, store_replaced_fn *fn, void *arg)
{
    (void)store, (void)job, (void)fn, (void)arg;
    ck_abort_msg("the dialect has no jobs with debounce");
}

void store_await(struct store *store, const struct store_await *await, store_awaited_fn *fn, void *arg)
{
    (void)store, (void)await, (void)fn, (void)arg;
    ck_abort_msg("the dialect does not wait");
}

void store_schedule_all(struct store *store, const struct store_schedule *jobs, size_t count,
                        store_scheduled_all_fn *fn, void *arg)
{
    (void)store, (void)jobs, (void)count, (void)fn, (void)arg;
    ck_abort_msg("this dialect sends each job alone");
}

int64_t store_now_ms(const struct store *store)
{
    (void)store;
    return clock_wall_ms();
}

const struct topic_quota *store_quota(const struct store *store, struct slice id)
{
    (void)store, (void)id;
    return NULL; /* no topic has a quota */
}

bool store_is_ready(const struct store *store, struct problem *why)
{
    (void)store, (void)why;
    return true;
}

bool store_is_ready_for(const struct store *store, struct slice id, struct problem *why)
{
    (void)id;
    return store_is_ready(store, why);
}

bool store_is_recording_for(const struct store *store, struct slice id, struct problem *why)
{
    (void)id;
    return store_is_ready(store, why);
}

bool store_is_redis(const struct store *store, const struct address *address, uint16_t port)
{
    (void)store, (void)address, (void)port;
    return false;
}

/* ---- the dialect ---- */

struct publication {
    struct app_submission submission;
    struct slice to;
    char text[QUERY_BYTES_MAX + 1];
};

static void write_error(struct buffer *body, const struct exchange_error *error)
{
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "error",
                  error->errors ? slice_of(error_at(error->errors, 0).detail) : error->detail);
    json_end_object(&json);
}

static void free_publication(void *arg)
{
    struct publication *publication = arg;
    app_submission_fini(&publication->submission);
    free(publication);
}

static void on_submitted(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    switch (verdict->end) {
    case STATUS_OK:
        json_put_object(&json);
        json_add_text(&json, "messageId", verdict->job.id);
        json_end_object(&json);
        exchange_answer(exchange, 202, NULL, 0, buffer_slice(body));
        break;
    case STATUS_NOT_REACHED:
        exchange_refuse(exchange, 403, "not your topic");
        break;
    case STATUS_INVALID:
        exchange_refuse_errors(exchange, "message", verdict->errors);
        break;
    default:
        exchange_refuse(exchange, 503, "try again");
    }
}

static const char *read_to(void *into, struct slice value)
{
    struct publication *publication = into;
    publication->to = value;
    return NULL;
}

static void publish(struct exchange *exchange)
{
    static const struct query_parameter parameters[] = {{"to", read_to, 0}};
    struct app *app = exchange->self;
    struct publication *publication = NEW(struct publication);
    struct buffer text = {
        .data = publication->text, .capacity = sizeof publication->text, .max = QUERY_BYTES_MAX};
    struct query_reading reading = {.exchange = exchange, .parameters = parameters, .count = 1, .known = 1};
    app_submission_init(&publication->submission, app, on_submitted, exchange);
    exchange_keep(exchange, publication, free_publication);
    query_read(&reading, publication, &text);
    if (!query_end(&reading))
        return;
    struct buffer spelt;
    struct slice body = http_request_body(exchange->request);
    buffer_init(&spelt, 4096);
    buffer_append_json(&spelt, body);
    struct job job = {.topic = exchange->topic, .url = publication->to, .body = buffer_slice(&spelt)};
    if (app_submission_admit(&publication->submission, &exchange->caller, &job, spelt.size))
        app_submission_send(&publication->submission, &job);
    buffer_fini(&spelt);
}

static const struct route routes[] = {
    {
        .path = "/publish/:",
        .names = route_names_topic,
        .methods = {{.name = "POST",
                     .label = "POST /publish/{topic}",
                     .handle = publish,
                     .reach = REACH_ASKED,
                     .scopes = SCOPE_SCHEDULE,
                     .body = BODY_ANY,
                     .takes_query = true}},
    },
};

static const struct dialect second = {
    .routes = routes,
    .route_count = 1,
    .error_type = {"application/vnd.second+json", 27},
    .write_error = write_error,
};

/* ---- the first dialect, which has only one route ---- */

static void answer_first(struct exchange *exchange)
{
    exchange_answer_text(exchange, SLICE("text/plain"), SLICE("first"));
}

static void write_first_error(struct buffer *body, const struct exchange_error *error)
{
    buffer_printf(body, "first: %u", error->status);
}

static const struct route first_routes[] = {
    {
        .path = "/first",
        .methods = {{.name = "GET", .label = "GET /first", .handle = answer_first, .reach = REACH_FREE}},
    },
};

static const struct dialect first = {
    .routes = first_routes,
    .route_count = 1,
    .error_type = {"text/plain", 10},
    .write_error = write_first_error,
};

/* ---- the fixture ---- */

static struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_limits *limits;
    struct site *site;
    struct store store;
    struct app app;
    struct metrics_board *board;
    struct target_policy *targets;
    struct token_table *tokens;
    pthread_t thread;
    uint16_t port;
} fx;

static struct wire_text text;

static struct token_table *make_tokens(void)
{
    static const struct {
        const char *name, *secret, *fields;
    } tokens[] = {
        {"shop", "s1", "scopes=schedule topics=orders-*"},
        {"reader", "s2", "scopes=read"},
    };
    struct buffer lines;
    struct problem problem;
    struct token_table *table;
    buffer_init(&lines, 4096);
    for (size_t i = 0; i < 2; i++) {
        token_write(&lines, slice_of(tokens[i].name), slice_of(tokens[i].secret), slice_of(tokens[i].fields));
        buffer_append_byte(&lines, '\n');
    }
    ck_assert_int_eq(token_table_parse("FILE", buffer_slice(&lines), &table, &problem), STATUS_OK);
    buffer_fini(&lines);
    return table;
}

static void *run_loop(void *loop)
{
    loop_run(loop);
    return NULL;
}

static void begin(void)
{
    const struct http_limits_options limits = {.connections = 8, .body_bytes = 1 << 20};
    int fd = wire_listen(&fx.port);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    memset(&fx.store, 0, sizeof fx.store);
    fx.loop = loop_new();
    fx.limits = http_limits_new(&limits);
    fx.board = metrics_board_new(1);
    fx.targets = target_policy_new();
    fx.tokens = make_tokens();
    fx.store.timer = timer_new(fx.loop, answer_schedule, &fx.store);
    fx.app = (struct app){.store = &fx.store, .targets = fx.targets, .metrics = metrics_of(fx.board, 0)};
    fx.site = site_new(&(struct site_options){
        .max_body_bytes = 100, .tokens = fx.tokens, .metrics = metrics_of(fx.board, 0)});
    site_add(fx.site, &first, NULL);
    site_add(fx.site, &second, &fx.app);
    struct http_server_options server = {.listen_fd = fd, .handler = {.limits = fx.limits, .max_waiting = 8}};
    site_attach(fx.site, &server);
    fx.server = http_server_new(fx.loop, &server);
    ck_assert_int_eq(pthread_create(&fx.thread, NULL, run_loop, fx.loop), 0);
}

static void do_stop(void *loop)
{
    loop_stop(loop);
}

static void end(void)
{
    loop_post(fx.loop, do_stop, fx.loop);
    pthread_join(fx.thread, NULL);
    http_server_free(fx.server);
    site_free(fx.site);
    http_limits_free(fx.limits);
    timer_free(fx.store.timer);
    loop_free(fx.loop);
    token_table_release(fx.tokens);
    target_policy_free(fx.targets);
    metrics_board_free(fx.board);
}

/* Sends a request and checks that its answer has these texts. */
static void expect(const char *request, const char *token, const char *body, const char *head,
                   const char *answer)
{
    char bytes[2048];
    int size = snprintf(bytes, sizeof bytes,
                        "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n"
                        "Content-Length: %zu\r\n\r\n%s",
                        request, token, strlen(body), body);
    int fd = wire_connect(fx.port);
    wire_send(fd, slice_from(bytes, (size_t)size));
    text.size = 0;
    wire_read_to_end(fd, &text);
    close(fd);
    ck_assert_msg(strstr(text.data, head), "%s is not in %s", head, text.data);
    ck_assert_msg(strstr(text.data, answer), "%s is not in %s", answer, text.data);
}

#define PUBLISH "POST /publish/orders-1?to=http%3A%2F%2F93.184.216.34%2Fx"

START_TEST(it_schedules_a_job)
{
    expect(PUBLISH, "s1", "hello", "202 Accepted", "{\"messageId\":\"orders-1/");
    ck_assert(fx.store.has_record);
    ck_assert_ptr_nonnull(strstr(fx.store.record, "http://93.184.216.34/x"));
    ck_assert_ptr_nonnull(strstr(fx.store.record, "\"body\":\"hello\""));
}
END_TEST

START_TEST(its_errors_have_its_own_form)
{
    static const char type[] = "Content-Type: application/vnd.second+json";
    expect("GET /publish/orders-1", "s1", "", type, "{\"error\":\"Method not allowed; allowed: POST.\"}");
    ck_assert_ptr_nonnull(strstr(text.data, "405 Method Not Allowed"));
    expect(PUBLISH, "s0", "", type, "{\"error\":\"The token is unknown.\"}");
    ck_assert_ptr_nonnull(strstr(text.data, "WWW-Authenticate: Bearer"));
    expect(PUBLISH, "s2", "", type, "{\"error\":\"Token reader lacks the scope schedule.\"}");
    expect("POST /publish/orders-1?from=x", "s1", "", type, "{\"error\":\"unknown query parameter");
    expect(PUBLISH, "s1",
           "more than a hundred bytes: "
           "0123456789012345678901234567890123456789012345678901234567890123456789012345678",
           type, "{\"error\":\"The body is over 100 bytes.\"}");
    ck_assert_ptr_nonnull(strstr(text.data, "413 "));
}
END_TEST

START_TEST(verdicts_become_its_answers)
{
    expect("POST /publish/mail?to=http%3A%2F%2F93.184.216.34%2Fx", "s1", "", "403 Forbidden",
           "{\"error\":\"not your topic\"}");
    expect("POST /publish/orders-1?to=http%3A%2F%2F10.0.0.1%2Fx", "s1", "", "400 Bad Request",
           "{\"error\":\"leads to 10.0.0.1");
    fx.store.status = STATUS_UNKNOWN;
    expect(PUBLISH, "s1", "", "503 Service Unavailable", "{\"error\":\"try again\"}");
    ck_assert_ptr_nonnull(strstr(text.data, "Retry-After: 1"));
}
END_TEST

START_TEST(both_dialects_are_served)
{
    expect("GET /first", "", "", "200 OK", "first");
    expect("GET /neither", "", "", "404 Not Found",
           "first: 404"); /* paths that belong to no dialect get the error of the first dialect */
}
END_TEST

START_TEST(its_routes_are_in_the_metrics)
{
    struct buffer numbers;
    expect(PUBLISH, "s1", "", "202 Accepted", "messageId");
    buffer_init(&numbers, 1 << 20);
    metrics_write(fx.board, &numbers, METRICS_FORMAT_TEXT);
    ck_assert_ptr_nonnull(
        strstr(buffer_text(&numbers),
               "duepost_http_request_seconds_count{route=\"POST /publish/{topic}\",status=\"202\"} 1"));
    buffer_fini(&numbers);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("dialect");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, it_schedules_a_job);
    tcase_add_test(tests, its_errors_have_its_own_form);
    tcase_add_test(tests, verdicts_become_its_answers);
    tcase_add_test(tests, both_dialects_are_served);
    tcase_add_test(tests, its_routes_are_in_the_metrics);
    suite_add_tcase(suite, tests);
    return suite;
}

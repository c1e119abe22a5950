#include "cli/receive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "cli/table.h"
#include "cli/terminal.h"

enum {
    STATUS_DEFAULT = 204,
    BODY_MAX = 16 * 1024 * 1024,
    BODY_SHOWN = 64 * 1024,
    LINE_MAX_BYTES = 256 * 1024, /* size of a printed line */
    ORIGIN_MAX = LOCAL_RECEIVER_HOST_SIZE + 32,
    CLOCK_AT = 11, /* where the time of day begins in an RFC 3339 timestamp */
};

/* Returns the status that the receiver answers with. Returns 0 if --status is none. */
static unsigned status_of(const struct call *call)
{
    const char *text = call->arguments.values[ARGUMENT_STATUS];
    uint64_t status = STATUS_DEFAULT;
    if (text && (!slice_to_number(slice_of(text), 599, &status) || status < 200))
        return 0;
    return (unsigned)status;
}

static void append_request(struct buffer *line, const struct http_request *request)
{
    struct slice id = http_request_header(request, "Duepost-Job-Id");
    if (id.size) {
        struct slice attempt = http_request_header(request, "Duepost-Attempt");
        struct slice topic = http_request_header(request, "Duepost-Topic");
        buffer_printf(line, "attempt %.*s of %.*s/%.*s", SLICE_ARG(attempt), SLICE_ARG(topic), SLICE_ARG(id));
    } else {
        struct slice method = http_request_method(request), target = http_request_target(request);
        buffer_printf(line, "%.*s %.*s", SLICE_ARG(method), SLICE_ARG(target));
    }
}

/* Prints a request as one line, such as "12:00:02.004Z attempt 1 of orders/order-1041 {"order": 1041}". */
static void on_request(void *arg, struct http_request *request)
{
    struct call *call = arg;
    struct slice body = http_request_body(request);
    char now[TIMESTAMP_SIZE];
    struct buffer line, shown;
    buffer_init(&line, LINE_MAX_BYTES);
    buffer_init(&shown, LINE_MAX_BYTES);
    timestamp_format(clock_wall_ms(), now);
    buffer_printf(&line, "%s ", now + CLOCK_AT);
    append_request(&line, request);
    if (body.size)
        buffer_append_byte(&line, ' ');
    buffer_append(&line, slice_from(body.data, body.size < BODY_SHOWN ? body.size : BODY_SHOWN));
    if (body.size > BODY_SHOWN)
        buffer_printf(&line, " ... (%zu bytes)", body.size);
    table_append_shown(&shown, buffer_slice(&line));
    buffer_append_byte(&shown, '\n');
    fwrite(buffer_text(&shown), 1, buffer_slice(&shown).size, stdout);
    if (fflush(stdout) != 0) /* standard output is closed, so no process reads what arrives */
        kill(getpid(), SIGTERM);
    buffer_fini(&line);
    buffer_fini(&shown);
    http_answer(request, &(struct http_answer){.status = status_of(call)});
}

struct local_receiver *receive_start(struct call *call, const char *flag, const char *value)
{
    struct local_receiver_options options = {.place = {.host = "127.0.0.1", .port = 9000},
                                             .max_body_bytes = BODY_MAX,
                                             .advice = "give it another port",
                                             .on_request = on_request,
                                             .arg = call};
    struct buffer origin;
    if (!status_of(call)) {
        problem_set(&call->problem, "--status is %.64s: expected 200 to 599",
                    call->arguments.values[ARGUMENT_STATUS]);
        return NULL;
    }
    if (value && !local_receiver_read_place(value, &options.place)) {
        problem_set(&call->problem, "%s is %.200s: expected PORT or HOST:PORT, such as 9000 or 0.0.0.0:9000",
                    flag, value);
        return NULL;
    }
    call->has_sent = true; /* later errors are not about the command line */
    struct local_receiver *receiver = local_receiver_start(&options, &call->problem);
    if (!receiver)
        return NULL;
    buffer_init(&origin, ORIGIN_MAX);
    local_receiver_write_origin(receiver, &origin);
    printf("receiver on %s\n", buffer_text(&origin));
    fflush(stdout);
    buffer_fini(&origin);
    return receiver;
}

bool receive_run(struct call *call)
{
    struct pollfd signals = {.fd = terminal_signals(0, &call->problem), .events = POLLIN};
    struct local_receiver *receiver =
        signals.fd < 0 ? NULL : receive_start(call, "PORT", call->arguments.word);
    while (receiver && poll(&signals, 1, -1) < 0 && errno == EINTR)
        continue;
    local_receiver_stop(receiver);
    if (signals.fd >= 0)
        close(signals.fd);
    return receiver;
}

/* load.c - the load generator of the benchmarks: sends POST /jobs with one job or batch= jobs, or with
 * publish=1 POST /v2/publish, or with beanstalkd=1 the command put of beanstalkd. Connections are kept alive.
 * Each connection sends its next request after the answer to the previous one.
 *
 *   bench_load PORT CALLBACK_URL [name=value ...]
 *
 * Without a rate, each connection sends as fast as the server answers. The body of a job has exactly body=
 * bytes, and contains the job's number and due time in ms. Prints one line of JSON. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "message.h"

enum { ROOM = 4096, HEAD_ROOM = 512, PAD_MAX = 1024, EVENTS_MAX = 256, SILENCE_MS = 10000 };

enum setting {
    CONNECTIONS,
    JOBS,
    FIRST,  /* number of the first job */
    TOPICS, /* number of topics, to which jobs are sent in turn */
    BODY,   /* size of a job's body in bytes */
    RATE,   /* jobs a second; 0: no limit */
    DUE_MS, /* due time of all jobs; 0: see DELAY_MIN_MS and DELAY_MAX_MS */
    DELAY_MIN_MS,
    DELAY_MAX_MS, /* each job is due at a random time between the two delays; both 0: in a year */
    BATCH,        /* jobs in a request; 1: a single job, which is not in an array */
    PUBLISH,      /* 1: as messages of QStash, due at whole seconds */
    BEANSTALKD,   /* 1: put into beanstalkd's tube, with delays in whole seconds */
    SETTINGS,
};

static const char *const names[SETTINGS] = {"connections",  "jobs",  "first",   "topics",
                                            "body",         "rate",  "due",     "delay_min_ms",
                                            "delay_max_ms", "batch", "publish", "beanstalkd"};

struct load {
    int64_t settings[SETTINGS];
    const char *url;
    const char *topic;
    uint16_t port;
    int epoll;
    struct connection *connections;
    struct list idle; /* with a rate: connections without a request; they are used in turn, because the server
                         closes a connection that is idle for long */
    int64_t sent, answered, refused; /* numbers of jobs */
    int64_t requests;                /* number of answered requests */
    int64_t begin_us;
    int32_t *took_us; /* time that each request took */
    char *request;
    size_t room_bytes; /* size of the buffer for a request, and of the buffer for an answer */
    char pad[PAD_MAX];
};

struct connection {
    struct list link;
    int fd;
    int64_t sent_us, jobs; /* data of the request that is under way */
    size_t used;
    char *room;
};

static int64_t now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* ---- requests ---- */

static int64_t due_ms_of(const struct load *load)
{
    const int64_t *settings = load->settings;
    int64_t span_ms = settings[DELAY_MAX_MS] - settings[DELAY_MIN_MS];
    if (settings[DUE_MS])
        return settings[DUE_MS];
    int64_t now_ms = now_us(CLOCK_REALTIME) / 1000;
    if (!settings[DELAY_MAX_MS])
        return now_ms + INT64_C(365) * 86400000;
    return now_ms + settings[DELAY_MIN_MS] + (span_ms ? random() % span_ms : 0);
}

/* Returns the size of the body, not counting its padding and the two bytes at its end. */
static int write_body(int64_t number, int64_t due_ms, char body[PAD_MAX])
{
    return snprintf(body, PAD_MAX, "{\"n\":%lld,\"due\":%lld,\"pad\":\"", (long long)number,
                    (long long)due_ms);
}

static size_t write_job(const struct load *load, int64_t number, char *text)
{
    char body[PAD_MAX], due[32];
    int64_t due_ms = due_ms_of(load);
    time_t seconds = (time_t)(due_ms / 1000);
    struct tm parts;
    strftime(due, sizeof due, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &parts));
    int used = write_body(number, due_ms, body);
    int pad = (int)load->settings[BODY] - used - 2;
    int size = snprintf(text, ROOM,
                        "{\"topic\":\"%s-%lld\",\"jobId\":\"%08lld\",%s%s%s\"dueAt\":\"%s.%03dZ\","
                        "\"body\":%s%.*s\"}}",
                        load->topic, (long long)(number % load->settings[TOPICS]), (long long)number,
                        *load->url ? "\"url\":\"" : "", load->url, *load->url ? "\"," : "", due,
                        (int)(due_ms % 1000), body, pad > 0 ? pad : 0, load->pad);
    assert(size > 0 && size < ROOM);
    return (size_t)size;
}

static size_t write_jobs(struct load *load, int64_t count, char *text)
{
    bool is_array = load->settings[BATCH] > 1;
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) {
        if (is_array)
            text[size++] = i ? ',' : '[';
        size += write_job(load, load->settings[FIRST] + load->sent++, text + size);
    }
    if (is_array)
        text[size++] = ']';
    return size;
}

/* Writes the next job's body alone to text. Returns its size. */
static int write_next_body(struct load *load, int64_t due_ms, char *text)
{
    int used = write_body(load->settings[FIRST] + load->sent++, due_ms, text);
    int pad = (int)load->settings[BODY] - used - 2;
    return used + snprintf(text + used, ROOM, "%.*s\"}", pad > 0 ? pad : 0, load->pad);
}

/* Writes a message's body to text, and its head. */
static size_t write_message(struct load *load, char *text, char head[HEAD_ROOM], int *head_size)
{
    int64_t due_ms = (due_ms_of(load) + 999) / 1000 * 1000;
    int size = write_next_body(load, due_ms, text);
    *head_size = snprintf(head, HEAD_ROOM,
                          "POST /v2/publish/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                          "Content-Type: application/json\r\nUpstash-Method: POST\r\n"
                          "Upstash-Not-Before: %lld\r\nContent-Length: %d\r\n\r\n",
                          load->url, load->port, (long long)(due_ms / 1000), size);
    return (size_t)size;
}

/* Like write_message, but writes a put of beanstalkd. If a worker does not end the job within 60 s,
 * beanstalkd gives it to another one. */
static size_t write_put(struct load *load, char *text, char head[HEAD_ROOM], int *head_size)
{
    int64_t now_ms = now_us(CLOCK_REALTIME) / 1000, wait_ms = due_ms_of(load) - now_ms;
    int64_t delay = wait_ms > 0 ? (wait_ms + 999) / 1000 : 0;
    int size = write_next_body(load, now_ms + delay * 1000, text);
    *head_size = snprintf(head, HEAD_ROOM, "put 0 %lld 60 %d\r\n", (long long)delay, size);
    memcpy(text + size, "\r\n", 2);
    return (size_t)size + 2;
}

static size_t write_request(struct load *load, int64_t jobs, char head[HEAD_ROOM], int *head_size)
{
    char *text = load->request + HEAD_ROOM;
    if (load->settings[PUBLISH])
        return write_message(load, text, head, head_size);
    if (load->settings[BEANSTALKD])
        return write_put(load, text, head, head_size);
    size_t size = write_jobs(load, jobs, text);
    *head_size = snprintf(head, HEAD_ROOM,
                          "POST /jobs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n\r\n",
                          load->port, size);
    return size;
}

static void send_next(struct load *load, struct connection *connection)
{
    int64_t left = load->settings[JOBS] - load->sent, most = load->settings[BATCH];
    char head[HEAD_ROOM];
    int head_size;
    connection->jobs = left < most ? left : most;
    size_t size = write_request(load, connection->jobs, head, &head_size);
    char *request = load->request + HEAD_ROOM - head_size;
    memcpy(request, head, (size_t)head_size);
    size += (size_t)head_size;
    connection->sent_us = now_us(CLOCK_MONOTONIC);
    while (size > 0) {
        ssize_t written = write(connection->fd, request, size);
        if (written <= 0)
            fail("write");
        request += written;
        size -= (size_t)written;
    }
}

/* Returns the number of accepted jobs of an answer. In the answer to an array, each job has its own
 * status. */
static int64_t count_accepted(const struct connection *connection, const struct message *message)
{
    static const char word[] = "{\"status\":201,";
    int64_t count = 0;
    if (slice_starts_with(message->head, SLICE("HTTP/1.1 201 ")) ||
        slice_starts_with(message->head, SLICE("INSERTED ")) ||
        slice_starts_with(message->body, SLICE("{\"messageId\":")))
        return connection->jobs;
    for (struct slice rest = message->body; rest.size;) {
        const char *found = memmem(rest.data, rest.size, word, sizeof word - 1);
        if (!found)
            break;
        count++;
        rest = slice_skip(rest, (size_t)(found + 1 - rest.data));
    }
    return count;
}

static void on_answer(struct load *load, struct connection *connection, const struct message *message)
{
    int64_t took_us = now_us(CLOCK_MONOTONIC) - connection->sent_us;
    int64_t refused = connection->jobs - count_accepted(connection, message);
    load->took_us[load->requests++] = (int32_t)took_us;
    load->answered += connection->jobs;
    if (refused && load->refused == 0)
        fprintf(stderr, "load: refused: %.*s\n", (int)message->size, message->head.data);
    load->refused += refused;
    if (load->settings[RATE]) {
        list_append(&load->idle, &connection->link);
    } else if (load->sent < load->settings[JOBS]) {
        send_next(load, connection);
    }
}

/* Returns false if the answer is not complete yet. beanstalkd answers with a line. */
static bool read_answer(const struct load *load, struct slice bytes, struct message *message)
{
    if (!load->settings[BEANSTALKD])
        return message_read(bytes, message);
    *message = (struct message){.head = bytes, .size = bytes.size};
    return bytes.data[bytes.size - 1] == '\n';
}

static void on_readable(struct load *load, struct connection *connection)
{
    struct message message;
    size_t left = load->room_bytes - connection->used;
    ssize_t got = read(connection->fd, connection->room + connection->used, left);
    if (got <= 0)
        fail("duepost closed the connection");
    connection->used += (size_t)got;
    if (!read_answer(load, slice_from(connection->room, connection->used), &message))
        return;
    connection->used = 0;
    on_answer(load, connection, &message);
}

/* With a rate: sends the requests that are due by now. Returns the wait until the next request, in ms. If all
 * connections wait for answers, requests are sent late, as soon as a connection is free. */
static int keep_rate(struct load *load)
{
    int64_t rate = load->settings[RATE];
    if (!rate || load->sent == load->settings[JOBS])
        return SILENCE_MS;
    int64_t passed_us = now_us(CLOCK_MONOTONIC) - load->begin_us;
    while (!list_is_empty(&load->idle) && load->sent < load->settings[JOBS] &&
           load->sent * 1000000 / rate <= passed_us)
        send_next(load, LIST_ENTRY(list_take(&load->idle), struct connection, link));
    int64_t wait_us = load->sent * 1000000 / rate - passed_us;
    return wait_us > 0 ? (int)(wait_us / 1000) + 1 : 1;
}

static void run(struct load *load)
{
    struct epoll_event events[EVENTS_MAX];
    int64_t heard_us = now_us(CLOCK_MONOTONIC);
    load->begin_us = heard_us;
    for (int i = 0; !load->settings[RATE] && i < load->settings[CONNECTIONS]; i++)
        if (load->sent < load->settings[JOBS])
            send_next(load, &load->connections[i]);
    while (load->answered < load->settings[JOBS]) {
        int count = epoll_wait(load->epoll, events, EVENTS_MAX, keep_rate(load));
        for (int i = 0; i < count; i++)
            on_readable(load, events[i].data.ptr);
        if (count > 0)
            heard_us = now_us(CLOCK_MONOTONIC);
        else if (load->sent > load->answered &&
                 now_us(CLOCK_MONOTONIC) - heard_us > SILENCE_MS * INT64_C(1000))
            fail("no answer within 10 s");
    }
}

/* ---- the frame ---- */

static void connect_all(struct load *load)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(load->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < load->settings[CONNECTIONS]; i++) {
        struct connection *connection = &load->connections[i];
        connection->room = memory_new(load->room_bytes);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0)
            fail("connect");
        setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &event);
        list_append(&load->idle, &connection->link);
    }
}

static void set(struct load *load, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals && slice_equal(slice_from(text, (size_t)(equals - text)), SLICE("topic"))) {
        load->topic = equals + 1;
        return;
    }
    for (int i = 0; equals && i < SETTINGS; i++) {
        if (slice_equal(slice_from(text, (size_t)(equals - text)), slice_of(names[i]))) {
            load->settings[i] = atoll(equals + 1);
            return;
        }
    }
    fprintf(stderr, "load: %s?\n", text);
    exit(EXIT_FAILURE);
}

static int compare(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

static void report(const struct load *load)
{
    double seconds = (double)(now_us(CLOCK_MONOTONIC) - load->begin_us) / 1e6;
    size_t count = (size_t)load->requests;
    qsort(load->took_us, count, sizeof *load->took_us, compare);
    printf(
        "{\"jobs\":%zu,\"refused\":%lld,\"seconds\":%.6f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n",
        (size_t)load->answered, (long long)load->refused, seconds, load->took_us[count / 2] / 1e3,
        load->took_us[count * 99 / 100] / 1e3, load->took_us[count - 1] / 1e3);
}

int main(int argc, char **argv)
{
    static struct load load = {
        .settings = {[CONNECTIONS] = 64, [JOBS] = 1000, [TOPICS] = 1, [BODY] = 200, [BATCH] = 1},
        .topic = "bench"};
    if (argc < 3) {
        fprintf(stderr, "load PORT CALLBACK_URL [name=value ...]\n");
        return EXIT_FAILURE;
    }
    load.port = (uint16_t)atoi(argv[1]);
    load.url = argv[2];
    for (int i = 3; i < argc; i++)
        set(&load, argv[i]);
    memset(load.pad, 'x', sizeof load.pad);
    list_init(&load.idle);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    load.connections = NEW_ARRAY(struct connection, (size_t)load.settings[CONNECTIONS]);
    load.room_bytes = HEAD_ROOM + ROOM * (size_t)load.settings[BATCH];
    load.request = memory_new(load.room_bytes);
    load.took_us = NEW_ARRAY(int32_t, (size_t)load.settings[JOBS]);
    connect_all(&load);
    run(&load);
    report(&load);
    return load.refused ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* client.c - a client that schedules and cancels jobs according to a plan, and logs the answers.
 *
 *   fault_client PLAN LOG GAUGES RECEIVER CONNECTIONS PORT...
 *
 * A line of PLAN: ms from the start, topic, jobId, delay in ms, ms until the cancel or -1, path, more members
 * of the job or "-". The job's url is RECEIVER and the path. Each of the CONNECTIONS has one request under
 * way; they share the PORTs. A request whose connection breaks is counted as lost, and is never repeated.
 *
 * LOG gets a line for each schedule: P, us since 1970 when it was sent and when it was answered, number of
 * the port, status (0: lost), n if the answer says that nothing changed, else -, due time in ms or 0,
 * topic/jobId. For each cancel: C, the two times, number of the port, status, y if an attempt was under way,
 * n if nothing changed, else -, topic/jobId. GAUGES is a map of 64-bit numbers: the number of unanswered
 * schedules for each port. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "bench/message.h"

enum {
    PORTS_MAX = 16,
    ROOM = 4096,
    ID_MAX = 128,
    EVENTS_MAX = 256,
    ANSWER_MAX_US = 10 * 1000 * 1000,
    RECONNECT_US = 50 * 1000,
    TICK_MS = 10,
};

struct cancel {
    int64_t at_us;
    char id[ID_MAX];
};

struct connection {
    struct list link; /* link in the list idle or lost */
    int fd;
    size_t port;
    int64_t sent_us;
    int64_t retry_us;
    bool is_busy, is_cancel;
    int64_t cancel_after_ms;
    char id[ID_MAX];
    size_t used;
    char room[ROOM];
};

struct order {
    long long at_ms, delay_ms, cancel_after_ms;
    char topic[ID_MAX / 2], job_id[ID_MAX / 2 - 1], path[256], more[256];
};

struct client {
    const char *receiver;
    int epoll;
    uint16_t ports[PORTS_MAX];
    size_t port_count;
    struct connection *connections;
    size_t count;
    struct list idle, lost; /* lost: connections that are closed; the one that was closed first comes first */
    FILE *plan, *record;
    struct order next;
    bool has_next;
    struct cancel *cancels; /* a heap, the earliest first */
    size_t cancel_count, cancel_capacity;
    size_t busy;
    int64_t begin_us;
    volatile int64_t *gauges;
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* ---- future cancels ---- */

static void swap_cancels(struct client *client, size_t a, size_t b)
{
    struct cancel cancel = client->cancels[a];
    client->cancels[a] = client->cancels[b];
    client->cancels[b] = cancel;
}

static void add_cancel(struct client *client, int64_t at_us, const char *id)
{
    if (client->cancel_count == client->cancel_capacity) {
        client->cancel_capacity = client->cancel_capacity ? client->cancel_capacity * 2 : 1024;
        client->cancels = memory_resize(client->cancels, client->cancel_capacity * sizeof *client->cancels);
    }
    size_t i = client->cancel_count++;
    client->cancels[i].at_us = at_us;
    memcpy(client->cancels[i].id, id, ID_MAX);
    for (; i > 0 && client->cancels[i].at_us < client->cancels[(i - 1) / 2].at_us; i = (i - 1) / 2)
        swap_cancels(client, i, (i - 1) / 2);
}

static void take_cancel(struct client *client, char *id)
{
    struct cancel *cancels = client->cancels;
    memcpy(id, cancels[0].id, ID_MAX);
    cancels[0] = cancels[--client->cancel_count];
    for (size_t i = 0, child; (child = 2 * i + 1) < client->cancel_count; i = child) {
        if (child + 1 < client->cancel_count && cancels[child + 1].at_us < cancels[child].at_us)
            child++;
        if (cancels[i].at_us <= cancels[child].at_us)
            break;
        swap_cancels(client, i, child);
    }
}

/* ---- answers ---- */

static int64_t due_ms_of(struct slice body)
{
    static const char key[] = "\"dueAt\":\"";
    const char *at = memmem(body.data, body.size, key, strlen(key));
    struct tm parts = {0};
    const char *end = at ? strptime(at + strlen(key), "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (!end)
        return 0;
    return (int64_t)timegm(&parts) * 1000 + (*end == '.' ? atoi(end + 1) : 0);
}

static bool says(struct slice body, const char *text)
{
    return memmem(body.data, body.size, text, strlen(text));
}

static void write_down(struct client *client, struct connection *connection, int status, struct slice body)
{
    int64_t at_us = now_us();
    fprintf(client->record, "%c %lld %lld %zu %d ", connection->is_cancel ? 'C' : 'P',
            (long long)connection->sent_us, (long long)at_us, connection->port, status);
    if (connection->is_cancel)
        fprintf(client->record, "%c",
                says(body, "\"attemptInFlight\":true") ? 'y'
                : says(body, "nothing changed")        ? 'n'
                                                       : '-');
    else
        fprintf(client->record, "%c %lld", says(body, "nothing changed") || status == 507 ? 'n' : '-',
                (long long)due_ms_of(body));
    fprintf(client->record, " %s\n", connection->id);
    connection->is_busy = false;
    client->busy--;
    client->gauges[connection->port] -= !connection->is_cancel;
    if (status == 201 && connection->cancel_after_ms >= 0)
        add_cancel(client, at_us + connection->cancel_after_ms * 1000, connection->id);
}

static void lose(struct client *client, struct connection *connection)
{
    if (connection->is_busy)
        write_down(client, connection, 0, SLICE(""));
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
    connection->used = 0;
    connection->retry_us = now_us() + RECONNECT_US;
    list_remove(&connection->link);
    list_append(&client->lost, &connection->link);
}

static void on_readable(struct client *client, struct connection *connection)
{
    struct message message;
    ssize_t got = read(connection->fd, connection->room + connection->used, ROOM - connection->used - 1);
    if (got <= 0) {
        lose(client, connection);
        return;
    }
    connection->used += (size_t)got;
    connection->room[connection->used] = '\0';
    if (!connection->is_busy) /* a fault: the server answers although no request is under way */
        fail("an answer without a request");
    if (!message_read(slice_from(connection->room, connection->used), &message))
        return;
    write_down(client, connection, atoi(connection->room + strlen("HTTP/1.1 ")), message.body);
    connection->used = 0;
    if (says(message.head, "onnection: close"))
        lose(client, connection);
    else
        list_append(&client->idle, &connection->link);
}

/* ---- requests ---- */

static void send_request(struct client *client, struct connection *connection, const char *text, int size)
{
    list_remove(&connection->link);
    connection->is_busy = true;
    connection->sent_us = now_us();
    client->busy++;
    client->gauges[connection->port] += !connection->is_cancel;
    if (write(connection->fd, text, (size_t)size) != size)
        lose(client, connection);
}

static void send_schedule(struct client *client, struct connection *connection)
{
    const struct order *order = &client->next;
    char job[ROOM / 2], text[ROOM];
    bool has_more = strcmp(order->more, "-") != 0;
    int job_size = snprintf(
        job, sizeof job, "{\"topic\":\"%s\",\"jobId\":\"%s\",\"url\":\"%s%s\",\"delay\":%lld.%03lld%s%s}",
        order->topic, order->job_id, client->receiver, order->path, order->delay_ms / 1000,
        order->delay_ms % 1000, has_more ? "," : "", has_more ? order->more : "");
    int size = snprintf(text, sizeof text,
                        "POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        "Content-Length: %d\r\n\r\n%s",
                        job_size, job);
    snprintf(connection->id, sizeof connection->id, "%s/%s", order->topic, order->job_id);
    connection->is_cancel = false;
    connection->cancel_after_ms = order->cancel_after_ms;
    send_request(client, connection, text, size);
}

static void send_cancel(struct client *client, struct connection *connection)
{
    char text[ROOM];
    take_cancel(client, connection->id);
    int size =
        snprintf(text, sizeof text, "DELETE /jobs/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", connection->id);
    connection->is_cancel = true;
    send_request(client, connection, text, size);
}

static void read_order(struct client *client)
{
    struct order *order = &client->next;
    client->has_next =
        fscanf(client->plan, "%lld %63s %62s %lld %lld %255s %255s", &order->at_ms, order->topic,
               order->job_id, &order->delay_ms, &order->cancel_after_ms, order->path, order->more) == 7;
}

/* Sends requests that are due, one on each idle connection. */
static void send_what_is_due(struct client *client)
{
    int64_t at_us = now_us();
    while (!list_is_empty(&client->idle)) {
        struct connection *connection = LIST_ENTRY(client->idle.next, struct connection, link);
        if (client->cancel_count > 0 && client->cancels[0].at_us <= at_us) {
            send_cancel(client, connection);
        } else if (client->has_next && client->begin_us + client->next.at_ms * 1000 <= at_us) {
            send_schedule(client, connection);
            read_order(client);
        } else {
            break;
        }
    }
}

/* ---- connections ---- */

static void connect_one(struct client *client, struct connection *connection)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(client->ports[connection->port]),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        lose(client, connection);
        return;
    }
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    epoll_ctl(client->epoll, EPOLL_CTL_ADD, connection->fd, &event);
    list_remove(&connection->link);
    list_append(&client->idle, &connection->link);
}

static void mend_connections(struct client *client)
{
    int64_t at_us = now_us();
    while (!list_is_empty(&client->lost)) {
        struct connection *connection = LIST_ENTRY(client->lost.next, struct connection, link);
        if (connection->retry_us > at_us)
            break;
        connect_one(client, connection);
    }
    for (size_t i = 0; i < client->count; i++)
        if (client->connections[i].is_busy && client->connections[i].sent_us + ANSWER_MAX_US < at_us)
            lose(client, &client->connections[i]);
}

/* ---- the frame ---- */

static void open_files(struct client *client, char **argv)
{
    int fd = open(argv[3], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    signal(SIGPIPE, SIG_IGN);
    client->plan = fopen(argv[1], "re");
    client->record = fopen(argv[2], "ae");
    if (!client->plan || !client->record || fd < 0 || ftruncate(fd, PORTS_MAX * 8) != 0)
        fail("open");
    client->gauges = mmap(NULL, PORTS_MAX * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void run(struct client *client)
{
    struct epoll_event events[EVENTS_MAX];
    int64_t mended_us = 0;
    client->begin_us = now_us();
    while (client->has_next || client->cancel_count > 0 || client->busy > 0) {
        if (now_us() - mended_us >= TICK_MS * 1000) {
            mended_us = now_us();
            mend_connections(client);
        }
        send_what_is_due(client);
        fflush(client->record);
        int count = epoll_wait(client->epoll, events, EVENTS_MAX, TICK_MS);
        for (int i = 0; i < count; i++)
            on_readable(client, events[i].data.ptr);
    }
    fflush(client->record);
}

int main(int argc, char **argv)
{
    static struct client client;
    if (argc < 7 || argc - 6 > PORTS_MAX) {
        fprintf(stderr, "fault_client PLAN LOG GAUGES RECEIVER CONNECTIONS PORT...\n");
        return EXIT_FAILURE;
    }
    open_files(&client, argv);
    client.receiver = argv[4];
    client.count = (size_t)atoi(argv[5]);
    for (int i = 6; i < argc; i++)
        client.ports[client.port_count++] = (uint16_t)atoi(argv[i]);
    list_init(&client.idle);
    list_init(&client.lost);
    client.epoll = epoll_create1(EPOLL_CLOEXEC);
    client.connections = NEW_ARRAY(struct connection, client.count);
    for (size_t i = 0; i < client.count; i++) {
        client.connections[i].fd = -1;
        client.connections[i].port = i % client.port_count;
        list_init(&client.connections[i].link);
        list_append(&client.lost, &client.connections[i].link);
    }
    read_order(&client);
    run(&client);
    return EXIT_SUCCESS;
}

#include "cli/top/top.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/system.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/remote.h"

enum {
    REFRESH_US = 1000 * 1000,
    TIMEOUT_MS = 10 * 1000,
    TEXT_MAX = 1024 * 1024,
    TARGET_SIZE = 64,
    KEYS_MAX = 64,
};

struct top {
    const char *server;
    struct remote_calls *calls;
    struct remote_call *call;
    struct terminal *terminal;
    struct top_series series;
    json_t *overview;
    bool has_trouble;
    struct problem trouble;
    bool is_over;
    int signal_fd;
    int64_t next_us; /* time of the next request */
};

static void top_draw(struct top *top)
{
    struct top_look look = {.has_color = terminal_has_color(), .is_utf8 = terminal_is_utf8()};
    struct top_view view = {top->server, top->overview, &top->series,
                            top->has_trouble ? top->trouble.text : NULL};
    struct buffer text;
    terminal_size(&look.columns, &look.rows);
    if (!top->terminal) {
        look.rows = SIZE_MAX;
        look.has_color = false;
    }
    buffer_init(&text, TEXT_MAX);
    top_view_write(&text, &view, &look);
    if (top->terminal)
        terminal_show(top->terminal, buffer_slice(&text));
    else
        fwrite(text.data, 1, buffer_slice(&text).size, stdout);
    buffer_fini(&text);
}

/* ---- answers ---- */

static void top_take(struct top *top, json_t *overview)
{
    json_decref(top->overview);
    top->overview = overview;
    top->has_trouble = false;
    top_series_merge(&top->series, json_object_get(overview, "series"));
}

static void on_answer(void *arg, long status, struct slice text)
{
    struct top *top = arg;
    json_t *overview = status / 100 == 2 ? json_loadb(text.data, text.size, 0, NULL) : NULL;
    top->call = NULL;
    if (overview) {
        top_take(top, overview);
    } else {
        top->has_trouble = true;
        if (status == 0)
            problem_set(&top->trouble, "%.*s", SLICE_ARG(text));
        else
            remote_explain(status, text, &top->trouble);
    }
    top_draw(top);
}

/* ---- keys and signals ---- */

static void top_read_signals(struct top *top)
{
    struct signalfd_siginfo info;
    while (read(top->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGTSTP)
            terminal_suspend(top->terminal);
        if (info.ssi_signo == SIGWINCH || info.ssi_signo == SIGTSTP)
            top_draw(top);
        else
            top->is_over = true;
    }
}

static void top_loop(struct top *top)
{
    int descriptors[] = {STDIN_FILENO, top->signal_fd};
    while (!top->is_over) {
        char target[TARGET_SIZE] = "/overview";
        int64_t after_ms = top_series_after_ms(&top->series);
        int64_t now_us = clock_boot_us();
        if (!top->call && now_us >= top->next_us) {
            if (after_ms > 0)
                snprintf(target, sizeof target, "/overview?after=%" PRId64, after_ms);
            top->next_us = now_us + REFRESH_US;
            top->call = remote_call_start(
                top->calls, &(struct remote_request){.target = target, .timeout_ms = TIMEOUT_MS}, on_answer,
                top);
        }
        int64_t wait_us = top->next_us - clock_boot_us();
        remote_calls_wait(top->calls, descriptors, 2,
                          wait_us > 0 ? (int)(wait_us / 1000) + 1
                          : top->call ? TIMEOUT_MS
                                      : 0);
        top_read_signals(top);
        char keys[KEYS_MAX];
        struct pollfd terminal = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&terminal, 1, 0) > 0) {
            ssize_t size = read(STDIN_FILENO, keys, sizeof keys);
            top->is_over =
                top->is_over || size == 0 || (size < 0 && errno != EINTR); /* the terminal is closed */
            for (ssize_t i = 0; i < size; i++)
                top->is_over = top->is_over || keys[i] == 'q' || keys[i] == 'Q';
        }
        remote_calls_step(top->calls);
    }
}

/* ---- the command ---- */

static bool print_once(struct top *top, struct call *call)
{
    json_t *overview = remote_ask_json(call->remote, "GET", "/overview", NULL, &call->problem);
    if (!overview)
        return false;
    if (call->arguments.is_json)
        call_print_answer(call);
    top_take(top, overview);
    if (!call->arguments.is_json)
        top_draw(top);
    return true;
}

/* Waits for the first answer before it clears the screen, so that an error stays in the terminal. */
static bool watch(struct top *top, struct call *call)
{
    json_t *overview = remote_ask_json(call->remote, "GET", "/overview", NULL, &call->problem);
    if (!overview)
        return false;
    top_take(top, overview);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&set, signals[i]);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    top->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    top->terminal = terminal_open();
    if (top->terminal && top->signal_fd >= 0) {
        top->calls = remote_calls_new(call->remote);
        top->next_us = clock_boot_us() + REFRESH_US;
        top_draw(top);
        top_loop(top);
        remote_calls_free(top->calls);
    } else {
        problem_set(&call->problem, "the terminal cannot be used; --once prints the overview");
    }
    terminal_close(top->terminal);
    if (top->signal_fd >= 0)
        close(top->signal_fd);
    return !call->problem.text[0];
}

bool top_run(struct call *call)
{
    struct top top = {.signal_fd = -1};
    struct remote_options options = remote_options(call->remote);
    top.server = options.server;
    top_series_init(&top.series);
    bool is_watch = !call->arguments.is_once && !call->arguments.is_json && isatty(STDOUT_FILENO);
    bool is_done = is_watch ? watch(&top, call) : print_once(&top, call);
    json_decref(top.overview);
    return is_done;
}

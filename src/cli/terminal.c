#include "cli/output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"

/* ---- the screen ---- */

enum { OUTPUT_MAX = 1024 * 1024, SIDE_MAX = 1000 };

/* The terminal switches to its alternate screen, so that the text before the command is restored
 * afterwards. */
#define TAKE   "\033[?1049h\033[?25l"
#define GIVE   "\033[?25h\033[?1049l"
#define HOME   "\033[H"
#define TO_EOL "\033[K"
#define TO_END "\033[J"

struct terminal {
    struct termios before, raw;
};

int terminal_signals(int more, struct problem *problem)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (more)
        sigaddset(&set, more);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        problem_set(problem, "signalfd: %s", strerror(errno));
    return fd;
}

static void terminal_write(struct slice text)
{
    while (text.size) {
        ssize_t written = write(STDOUT_FILENO, text.data, text.size);
        if (written < 0 && errno != EINTR)
            return; /* the terminal is closed, and the signal SIGHUP follows */
        if (written > 0)
            text = slice_skip(text, (size_t)written);
    }
}

static bool take_screen(const struct terminal *terminal)
{
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->raw) != 0)
        return false;
    terminal_write(SLICE(TAKE));
    return true;
}

static void give_screen(const struct terminal *terminal)
{
    terminal_write(SLICE(GIVE));
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
}

struct terminal *terminal_open(void)
{
    struct termios before;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return NULL;
    struct terminal *terminal = NEW(struct terminal);
    terminal->before = terminal->raw = before;
    terminal->raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    terminal->raw.c_cc[VMIN] = 0;
    terminal->raw.c_cc[VTIME] = 0;
    if (take_screen(terminal))
        return terminal;
    free(terminal);
    return NULL;
}

void terminal_close(struct terminal *terminal)
{
    if (!terminal)
        return;
    give_screen(terminal);
    free(terminal);
}

void terminal_suspend(struct terminal *terminal)
{
    give_screen(terminal);
    raise(SIGSTOP);
    take_screen(terminal);
}

/* Clears the rest of each line, because clearing the whole screen first would flicker. Writes no newline
 * after the last line, because it would scroll. */
void terminal_show(struct terminal *terminal, struct slice lines)
{
    struct buffer output;
    (void)terminal;
    buffer_init(&output, OUTPUT_MAX);
    buffer_append(&output, SLICE(HOME));
    for (struct slice line; lines.size;) {
        slice_cut(lines, '\n', &line, &lines);
        buffer_append(&output, line);
        buffer_append(&output, lines.size ? SLICE(TO_EOL "\r\n") : SLICE(TO_EOL));
    }
    buffer_append(&output, SLICE(TO_END));
    terminal_write(buffer_slice(&output));
    buffer_fini(&output);
}

static size_t side_of(unsigned short reported, const char *variable, size_t otherwise)
{
    const char *value = getenv(variable);
    uint64_t side;
    if (reported > 0)
        return reported;
    return value && slice_to_number(slice_of(value), SIDE_MAX, &side) && side > 0 ? (size_t)side : otherwise;
}

void terminal_size(size_t *columns, size_t *rows)
{
    struct winsize size = {.ws_col = 0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *columns = side_of(size.ws_col, "COLUMNS", 80);
    *rows = side_of(size.ws_row, "LINES", 24);
}

bool terminal_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && value[0])
            return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
    }
    return false;
}

bool terminal_has_color(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

/* ---- a progress bar ---- */

enum { BAR_WIDTH = 30, LINE_MAX_BYTES = 160, REDRAW_MS = 100 };

static const char clear_line[] = "\r\033[K";

void progress_begin(struct progress *progress)
{
    *progress = (struct progress){.is_shown = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO),
                                  .began_ms = clock_wall_ms()};
}

void progress_show(struct progress *progress, long long done)
{
    char room[LINE_MAX_BYTES];
    struct buffer text = buffer_of(room, sizeof room);
    int64_t now_ms = clock_wall_ms();
    if (!progress->is_shown || (progress->drawn_ms && now_ms - progress->drawn_ms < REDRAW_MS))
        return;
    progress->drawn_ms = now_ms;
    if (progress->what)
        buffer_printf(&text, "%s ", progress->what);
    int64_t elapsed_ms = now_ms - progress->began_ms;
    long long per_second = elapsed_ms > 0 ? done * 1000 / elapsed_ms : 0;
    if (progress->total > 0) {
        long long part = done < progress->total ? done : progress->total;
        int filled = (int)(part * BAR_WIDTH / progress->total);
        buffer_append_byte(&text, '[');
        for (int i = 0; i < BAR_WIDTH; i++)
            buffer_append_byte(&text, i < filled ? '#' : '.');
        buffer_printf(&text, "] %3lld %%  %lld of %lld jobs", part * 100 / progress->total, done,
                      progress->total);
    } else {
        buffer_printf(&text, "%lld jobs", done);
    }
    if (per_second > 0)
        buffer_printf(&text, ", %lld/s", per_second);
    if (per_second > 0 && progress->total > done)
        buffer_printf(&text, ", %lld s left", (progress->total - done) / per_second);
    fprintf(stderr, "%s%.*s", clear_line, SLICE_ARG(buffer_slice(&text)));
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn_ms)
        fputs(clear_line, stderr);
}

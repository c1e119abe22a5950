#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { BAR_WIDTH = 30, LINE_MAX_BYTES = 160, REDRAW_MS = 100 };

static const char clear_line[] = "\r\033[K";

void progress_begin(struct progress *progress)
{
    *progress = (struct progress){.is_shown = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO),
                                  .began_ms = clock_wall_ms()};
}

static void progress_write(struct buffer *text, long long done, long long total, int64_t elapsed_ms)
{
    long long per_second = elapsed_ms > 0 ? done * 1000 / elapsed_ms : 0;
    if (total > 0) {
        long long part = done < total ? done : total;
        int filled = (int)(part * BAR_WIDTH / total);
        buffer_append_byte(text, '[');
        for (int i = 0; i < BAR_WIDTH; i++)
            buffer_append_byte(text, i < filled ? '#' : '.');
        buffer_printf(text, "] %3lld %%  %lld of %lld jobs", part * 100 / total, done, total);
    } else {
        buffer_printf(text, "%lld jobs", done);
    }
    if (per_second > 0)
        buffer_printf(text, ", %lld/s", per_second);
    if (per_second > 0 && total > done)
        buffer_printf(text, ", %lld s left", (total - done) / per_second);
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
    progress_write(&text, done, progress->total, now_ms - progress->began_ms);
    fprintf(stderr, "%s%.*s", clear_line, SLICE_ARG(buffer_slice(&text)));
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn_ms)
        fputs(clear_line, stderr);
}

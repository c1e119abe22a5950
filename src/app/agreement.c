/* agreement.c - warns at the start if another process on this Redis has other settings (live.h). */
#include "app/live.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "store/store.h"

enum {
    /* Maximum number of questions. If Redis denies the channel, no question ever comes back. */
    ASKED_MAX = 60,
    DIFFERENCES_MAX = 2048,
};

static void agreement_copy(struct live_board *board, struct live_process *self, struct buffer *settings)
{
    live_board_self(board, self);
    buffer_init(settings, LIVE_SETTINGS_MAX);
    live_board_settings(board, settings);
}

void agreement_answer(struct live_board *board, const char *asking, struct buffer *message)
{
    struct live_process self;
    struct buffer settings;
    agreement_copy(board, &self, &settings);
    buffer_printf(message, "settings %s %lld %s %s\n", asking, (long long)self.pid, self.host,
                  buffer_text(&settings));
    buffer_fini(&settings);
}

void agreement_ask(struct agreement *agreement, struct live_board *board, struct buffer *message)
{
    struct live_process self;
    if (agreement->is_received || agreement->asked == ASKED_MAX)
        return;
    agreement->asked++;
    live_board_self(board, &self);
    buffer_printf(message, "ask %s\n", self.id);
}

/* Finds the value of an option. Returns false if the text does not have the option. */
static bool find_value(struct slice settings, struct slice name, struct slice *value)
{
    for (struct slice word, its_name; settings.size;) {
        slice_cut(settings, ' ', &word, &settings);
        if (slice_cut(word, '=', &its_name, value) && slice_equal(its_name, name))
            return true;
    }
    return false;
}

void agreement_compare(struct slice here, struct slice there, struct buffer *differences)
{
    for (struct slice word, name, value, other; here.size;) {
        slice_cut(here, ' ', &word, &here);
        if (!slice_cut(word, '=', &name, &value) || !find_value(there, name, &other) ||
            slice_equal(value, other))
            continue;
        buffer_printf(differences, "%s%.*s: %.*s here, %.*s there", differences->size ? "; " : "",
                      SLICE_ARG(name), SLICE_ARG(value), SLICE_ARG(other));
    }
}

/* Reads the settings of another process: "<pid> <host> <option>=<value>...". */
static void agreement_judge(struct agreement *agreement, struct live_board *board, struct slice line)
{
    struct live_process self;
    struct buffer settings, differences;
    struct slice pid, host;
    uint64_t number;
    slice_cut(line, ' ', &pid, &line);
    slice_cut(line, ' ', &host, &line);
    if (agreement->has_warned || !slice_to_number(pid, INT64_MAX, &number))
        return;
    agreement_copy(board, &self, &settings);
    buffer_init_fallible(&differences, DIFFERENCES_MAX);
    agreement_compare(buffer_slice(&settings), line, &differences);
    if (differences.size) {
        log_warning("settings_differ", LOG_SLICE("options", buffer_slice(&differences)),
                    LOG_NUMBER("other_pid", number), LOG_SLICE("other_host", host),
                    LOG_TEXT("then", "processes on one Redis need the same values"));
        agreement->has_warned = true;
    }
    buffer_fini(&differences);
    buffer_fini(&settings);
}

static bool is_id(struct slice word)
{
    for (size_t i = 0; i < word.size; i++)
        if (!memchr("0123456789abcdef", word.data[i], 16))
            return false;
    return word.size == LIVE_ID_SIZE - 1;
}

bool agreement_note(struct agreement *agreement, struct live_board *board, struct slice message,
                    char asking[LIVE_ID_SIZE])
{
    struct live_process self;
    bool is_asked = false;
    live_board_self(board, &self);
    for (struct slice line, kind, id; message.size;) {
        slice_cut(message, '\n', &line, &message);
        slice_cut(line, ' ', &kind, &line);
        slice_cut(line, ' ', &id, &line);
        bool is_own = slice_equal(id, slice_of(self.id));
        if (slice_equal(kind, SLICE("settings")) && is_own)
            agreement_judge(agreement, board, line);
        if (!slice_equal(kind, SLICE("ask")))
            continue;
        agreement->is_received = agreement->is_received || is_own;
        if (!is_own && is_id(id)) {
            snprintf(asking, LIVE_ID_SIZE, "%.*s", SLICE_ARG(id));
            is_asked = true;
        }
    }
    return is_asked;
}

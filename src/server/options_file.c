#include "server/options_file.h"

/* The configuration file, read with libinih.
 *
 * libinih silently cuts long lines, joins indented lines to the previous one, treats " ;" in a value as a
 * comment, and does not report line numbers to its handler. Therefore libinih reads lines through our own
 * function on_read. on_read counts the lines, and refuses lines that libinih would misread. It also replaces
 * each semicolon with a byte that no line may contain, and the handler on_pair restores the semicolons. */
#include <assert.h>
#include <ini.h>

#include "base/memory.h"
#include "job/text/job_errors.h"

enum { LINE_MAX_BYTES = 190, HIDDEN_SEMICOLON = '\x01' }; /* below libinih's own limit of 200 */

struct reading {
    struct option_layer *layer;
    const char *path;
    struct slice rest;
    unsigned line;
    struct problem *problem;
    enum status status;
};

static void refuse(struct reading *reading, unsigned line, const char *what)
{
    if (reading->status == STATUS_OK)
        problem_set(reading->problem, "%s:%u: %s", reading->path, line, what);
    reading->status = STATUS_INVALID;
}

static bool has_control_byte(struct slice line)
{
    for (size_t i = 0; i < line.size; i++) {
        unsigned char byte = (unsigned char)line.data[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return true;
    }
    return false;
}

/* Returns why libinih would misread the line, or NULL. */
static const char *why_misread(struct slice line)
{
    struct slice content = slice_trim(line);
    bool is_comment = content.size && (content.data[0] == '#' || content.data[0] == ';');
    if (line.size > LINE_MAX_BYTES)
        return is_comment ? "this line is too long; the maximum is 190 bytes"
                          : "this line is too long; the maximum is 190 bytes. Set a longer value in the "
                            "environment; allow-target may also be repeated on several lines";
    if (has_control_byte(line))
        return "this line has a control character; remove it";
    if (content.size && content.data != line.data && !is_comment)
        return "this line begins with a space; begin each option at the start of its line";
    if (content.size && content.data[0] == '[')
        return "sections are not supported; remove this line";
    return NULL;
}

/* The line reader for libinih, like fgets: returns one line without its end, or NULL at the end. */
static char *on_read(char *text, int size, void *stream)
{
    struct reading *reading = stream;
    assert(size > LINE_MAX_BYTES);
    if (reading->status != STATUS_OK || reading->rest.size == 0)
        return NULL;
    struct slice line;
    slice_cut(reading->rest, '\n', &line, &reading->rest);
    reading->line++;
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    const char *why = why_misread(line);
    if (why) {
        refuse(reading, reading->line, why);
        return NULL;
    }
    if (line.size)
        memcpy(text, line.data, line.size);
    text[line.size] = '\0';
    for (char *byte = text + strcspn(text, "=:"); *byte; byte++)
        if (*byte == ';')
            *byte = HIDDEN_SEMICOLON;
    return text;
}

static bool is_for_files(enum option_id id)
{
    return id != OPTION_COUNT && option_table[id].kind != OPTION_KIND_SWITCH && id != OPTION_CONFIG;
}

static void refuse_unknown(struct reading *reading, const char *name)
{
    struct suggestion meant = {.name = slice_of(name)};
    char detail[SUGGESTION_DETAIL_SIZE], what[LINE_MAX_BYTES + SUGGESTION_DETAIL_SIZE + 32];
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (is_for_files(id) && option_table[id].help)
            suggestion_weigh(&meant, option_table[id].name);
    suggestion_write_hint(&meant, "", "duepost --help lists all options", detail);
    snprintf(what, sizeof what, "unknown option '%s'%s", name, detail);
    refuse(reading, reading->line, what);
}

/* The handler for libinih. Returns 0 after an error; refuse has then set the problem. */
static int on_pair(void *arg, const char *section, const char *name, const char *value)
{
    (void)section;
    struct reading *reading = arg;
    enum option_id id = option_find(slice_of(name));
    char what[256];
    if (!is_for_files(id)) {
        refuse_unknown(reading, name);
        return 0;
    }
    const struct option_setting *earlier = &reading->layer->settings[id];
    if (earlier->text && option_table[id].kind != OPTION_KIND_TARGETS) {
        snprintf(what, sizeof what, "%s is already set in line %u", name, earlier->line);
        refuse(reading, reading->line, what);
        return 0;
    }
    char *text = slice_dup(slice_of(value));
    for (char *byte = text; *byte; byte++)
        if (*byte == HIDDEN_SEMICOLON)
            *byte = ';';
    option_layer_set(reading->layer, id, slice_of(text), OPTION_SOURCE_FILE, reading->line);
    free(text);
    return 1;
}

enum status options_read_file(struct option_layer *layer, const char *path, struct slice content,
                              struct problem *problem)
{
    static const struct slice byte_order_mark = SLICE_INIT("\xef\xbb\xbf");
    struct reading reading = {.layer = layer, .path = path, .rest = content, .problem = problem};
    if (slice_starts_with(content, byte_order_mark))
        reading.rest = slice_skip(content, byte_order_mark.size);
    int line = ini_parse_stream(on_read, &reading, on_pair, &reading);
    /* A negative number would mean that there is no file or no memory, which cannot happen in this call. */
    assert(line >= 0);
    if (line > 0)
        refuse(&reading, (unsigned)line, "this line is not \"name = value\"");
    return reading.status;
}

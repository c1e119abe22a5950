/* sources.c - the sources of options: defaults, flags, environment and file. */
#include <assert.h>
#include <ini.h>
#include <sched.h>

#include "base/memory.h"
#include "job/text/job_errors.h"
#include "server/options/options_private.h"

enum { TEXTS_MAX = 1 << 24, REACTORS_MAX = 4 };

void option_layer_set(struct option_layer *layer, enum option_id id, struct slice text,
                      enum option_source source, unsigned line)
{
    struct option_setting *setting = &layer->settings[id];
    struct buffer sum;
    buffer_init(&sum, TEXTS_MAX);
    if (setting->text && option_table[id].kind == OPTION_KIND_TARGETS)
        buffer_printf(&sum, "%s,", setting->text);
    buffer_append(&sum, text);
    free(setting->text);
    *setting = (struct option_setting){slice_dup(buffer_slice(&sum)), source, line};
    buffer_fini(&sum);
}

void option_layer_fini(struct option_layer *layer)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        free(layer->settings[id].text);
}

/* Returns the value of a variable, or NULL when it is absent or empty. */
static const char *environment_get(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return (*environment)[size + 1] ? *environment + size + 1 : NULL;
    return NULL;
}

/* ---- defaults ---- */

void options_fill_defaults(struct option_layer *defaults, char *const *environment)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].fallback)
            option_layer_set(defaults, id, slice_of(option_table[id].fallback), OPTION_SOURCE_DEFAULT, 0);
    /* Sets the default number of reactors: one core is left for Redis, and there are at most 4 reactors,
     * because few reactors send larger batches, which need fewer fsyncs. */
    cpu_set_t cores;
    char text[16];
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) - 1 : 1;
    count = count < 1 ? 1 : count > REACTORS_MAX ? REACTORS_MAX : count;
    snprintf(text, sizeof text, "%d", count);
    option_layer_set(defaults, OPTION_REACTORS, slice_of(text), OPTION_SOURCE_DEFAULT, 0);
    const char *state = environment_get(environment, "STATE_DIRECTORY");
    const char *base = environment_get(environment, "XDG_STATE_HOME");
    const char *home = environment_get(environment, "HOME");
    struct buffer path;
    struct slice first, rest;
    buffer_init(&path, 4096);
    if (state) { /* systemd separates several directories by colons */
        slice_cut(slice_of(state), ':', &first, &rest);
        buffer_append(&path, first);
    } else if (base && base[0] == '/') { /* relative paths are ignored, as the XDG specification requires */
        buffer_printf(&path, "%s/duepost", base);
    } else if (home) {
        buffer_printf(&path, "%s/.local/state/duepost", home);
    }
    if (path.size)
        option_layer_set(defaults, OPTION_DATA, buffer_slice(&path), OPTION_SOURCE_DEFAULT, 0);
    buffer_fini(&path);
}

/* ---- flags ---- */

static enum status bad_flag(struct problem *problem, struct slice name, const char *what)
{
    problem_set(problem, "--%.*s: %s", SLICE_ARG(name), what);
    return STATUS_INVALID;
}

/* Returns whether the flag belongs to the commands that call a running server (cli/). */
static bool is_flag_of_clients(struct slice name)
{
    return slice_equal(name, SLICE("server")) || slice_equal(name, SLICE("token-file")) ||
           slice_equal(name, SLICE("ca-file")) || slice_equal(name, SLICE("json"));
}

static enum status unknown_flag(struct problem *problem, struct slice name)
{
    struct suggestion meant = {.name = name};
    char detail[SUGGESTION_DETAIL_SIZE], best[OPTION_VARIABLE_MAX];
    if (is_flag_of_clients(name)) {
        problem_set(problem,
                    "--%.*s: is an option of commands and follows the command, such as duepost jobs --%.*s",
                    SLICE_ARG(name), SLICE_ARG(name));
        return STATUS_INVALID;
    }
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].help)
            suggestion_weigh(&meant, option_table[id].name);
    if (meant.best) {
        snprintf(best, sizeof best, "--%s", meant.best);
        meant.best = best;
    }
    suggestion_write_hint(&meant, "unknown option", "--help lists all options", detail);
    return bad_flag(problem, name, detail);
}

/* Reads one flag at argv[*index]. If the value is a separate argument, moves *index to the value. */
static enum status read_flag(struct option_layer *layer, int argc, char *const *argv, int *index,
                             struct problem *problem)
{
    struct slice name, value;
    bool has_value = slice_cut(slice_skip(slice_of(argv[*index]), 2), '=', &name, &value);
    enum option_id id = option_find(name);
    if (id == OPTION_COUNT)
        return unknown_flag(problem, name);
    bool is_switch = option_table[id].kind == OPTION_KIND_SWITCH;
    if (is_switch && has_value)
        return bad_flag(problem, name, "does not take a value");
    if (!is_switch && !has_value) {
        /* A value that begins with -- is more likely the next flag after a forgotten value. */
        if (*index + 1 >= argc || strncmp(argv[*index + 1], "--", 2) == 0)
            return bad_flag(problem, name, "needs a value");
        value = slice_of(argv[++*index]);
    }
    option_layer_set(layer, id, value, OPTION_SOURCE_FLAG, 0);
    return STATUS_OK;
}

enum status options_read_flags(struct option_layer *layer, int argc, char *const *argv,
                               struct problem *problem)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0) {
            option_layer_set(layer, OPTION_HELP, slice_of("true"), OPTION_SOURCE_FLAG, 0);
            continue;
        }
        if (strncmp(argv[i], "--", 2) != 0) {
            problem_set(problem, "%s: unexpected argument; options begin with --, see --help", argv[i]);
            return STATUS_INVALID;
        }
        enum status status = read_flag(layer, argc, argv, &i, problem);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- environment ---- */

static enum option_id find_variable(struct slice variable)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        char name[OPTION_VARIABLE_MAX];
        option_variable(&option_table[id], name);
        if (option_table[id].kind != OPTION_KIND_SWITCH && slice_equal(variable, slice_of(name)))
            return id;
    }
    return OPTION_COUNT;
}

/* Returns whether the variable belongs to the commands that call a running server (cli/). */
static bool is_for_clients(struct slice variable)
{
    return slice_equal(variable, SLICE("DUEPOST_SERVER")) || slice_equal(variable, SLICE("DUEPOST_TOKEN"));
}

static void warn_unknown(struct options *options, struct slice variable)
{
    static const struct slice prefix = SLICE_INIT("DUEPOST_");
    struct suggestion meant = {.name = slice_skip(variable, prefix.size)};
    char detail[SUGGESTION_DETAIL_SIZE], best[OPTION_VARIABLE_MAX];
    struct buffer text;
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].kind != OPTION_KIND_SWITCH && option_table[id].help)
            suggestion_weigh(&meant, option_table[id].name);
    if (meant.best) {
        option_variable(&option_table[option_find(slice_of(meant.best))], best);
        meant.best = best;
    }
    suggestion_write(&meant, " has no effect: unknown option", detail);
    buffer_init(&text, 1024);
    buffer_append(&text, variable);
    buffer_append(&text, slice_of(detail));
    options_warn(options, buffer_text(&text));
    buffer_fini(&text);
}

/* An unknown variable is not an error, because it may belong to an older or newer duepost on the same
 * host. */
void options_read_environment(struct option_layer *layer, char *const *environment, struct options *options)
{
    for (; *environment; environment++) {
        struct slice variable, value;
        slice_cut(slice_of(*environment), '=', &variable, &value);
        if (!slice_starts_with(variable, SLICE("DUEPOST_")))
            continue;
        enum option_id id = find_variable(variable);
        if (id == OPTION_COUNT && !is_for_clients(variable))
            warn_unknown(options, variable);
        else if (id != OPTION_COUNT &&
                 value.size) /* an empty value counts as absent, because Compose files produce empty values */
            option_layer_set(layer, id, value, OPTION_SOURCE_ENVIRONMENT, 0);
    }
}

/* ---- file ---- */

/* The configuration file, read with libinih.
 *
 * libinih silently cuts long lines, joins indented lines to the previous one, treats " ;" in a value as a
 * comment, and does not report line numbers to its handler. Therefore libinih reads lines through our own
 * function on_read. on_read counts the lines, and refuses lines that libinih would misread. It also replaces
 * each semicolon with a byte that no line may contain, and the handler on_pair restores the semicolons. */

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

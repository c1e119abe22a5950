#include "cli/declared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef DUEPOST_YAML
#include <yaml.h>
#endif

#include "base/json_writer.h"
#include "base/memory.h"
#include "job/text/json.h"

enum { MEMBERS_MAX = 100000, NAME_MAX_BYTES = 256, FILE_BYTES_MAX = 1024 * 1024 };

/* ---- places ---- */

static void add_mark(struct declared_file *file, size_t line)
{
    if (file->mark_count == file->mark_room) {
        file->mark_room = file->mark_room ? 2 * file->mark_room : 64;
        file->marks = memory_resize(file->marks, file->mark_room * sizeof *file->marks);
    }
    file->marks[file->mark_count++] = (struct declared_mark){file->text.size, line};
}

size_t declared_file_line(const struct declared_file *file, const char *at)
{
    size_t offset = (size_t)(at - file->text.data), low = 0, high = file->mark_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (file->marks[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? file->marks[low - 1].line : 1;
}

/* ---- variables ---- */

static bool is_name_byte(char byte, bool is_first)
{
    return byte == '_' || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (!is_first && byte >= '0' && byte <= '9');
}

/* Takes "NAME}" from the front of rest. Returns false if it does not begin so. */
static bool take_name(struct slice *rest, struct slice *name)
{
    size_t size = 0;
    while (size < rest->size && is_name_byte(rest->data[size], size == 0))
        size++;
    if (size == 0 || size == rest->size || rest->data[size] != '}' || size >= NAME_MAX_BYTES)
        return false;
    *name = slice_from(rest->data, size);
    *rest = slice_skip(*rest, size + 1);
    return true;
}

/* Appends a text of the file as JSON, with its variables replaced. */
static bool put_text(struct declared_file *file, struct slice text, size_t line, struct problem *problem)
{
    struct buffer whole;
    struct slice name;
    struct json_writer json = json_writer_to(&file->text);
    buffer_init(&whole, DECLARED_BYTES_MAX);
    while (text.size) {
        if (slice_starts_with(text, SLICE("$${"))) {
            buffer_append(&whole, SLICE("${"));
            text = slice_skip(text, 3);
            continue;
        }
        bool is_variable = slice_starts_with(text, SLICE("${"));
        struct slice rest = slice_skip(text, is_variable ? 2 : 0);
        if (!is_variable || !take_name(&rest, &name)) {
            buffer_append_byte(&whole, *text.data);
            text = slice_skip(text, 1);
            continue;
        }
        char variable[NAME_MAX_BYTES];
        snprintf(variable, sizeof variable, "%.*s", SLICE_ARG(name));
        const char *value = getenv(variable);
        if (!value) {
            problem_set(problem, "%s:%zu: the environment has no variable %s; $${%s} stands for ${%s}",
                        file->name, line, variable, variable, variable);
            buffer_fini(&whole);
            return false;
        }
        buffer_append(&whole, slice_of(value));
        text = rest;
    }
    json_put_text(&json, buffer_slice(&whole));
    buffer_fini(&whole);
    return true;
}

/* ---- JSON ---- */

struct json_source {
    struct declared_file *file;
    const char *at; /* up to here, lines are counted */
    size_t line;
    struct problem *problem;
};

static size_t line_of(struct json_source *source, const char *place)
{
    for (; source->at < place; source->at++)
        source->line += *source->at == '\n';
    return source->line;
}

static bool copy_json(struct json_source *source, struct slice value)
{
    struct declared_file *file = source->file;
    struct json_cursor cursor;
    struct slice key, item;
    bool is_first = true, is_done = true;
    size_t line = line_of(source, value.data);
    add_mark(file, line);
    if (json_is_text(value)) {
        struct buffer scratch;
        buffer_init(&scratch, DECLARED_BYTES_MAX);
        is_done = put_text(file, json_text(value, &scratch), line, source->problem);
        buffer_fini(&scratch);
    } else if (!json_open(value, &cursor)) {
        buffer_append(&file->text, value);
    } else if (cursor.close == ']') {
        buffer_append_byte(&file->text, '[');
        for (; is_done && json_next_item(&cursor, &item); is_first = false) {
            if (!is_first)
                buffer_append_byte(&file->text, ',');
            is_done = copy_json(source, item);
        }
        buffer_append_byte(&file->text, ']');
    } else {
        buffer_append_byte(&file->text, '{');
        for (; is_done && json_next_member(&cursor, &key, &item); is_first = false) {
            if (!is_first)
                buffer_append_byte(&file->text, ',');
            add_mark(file, line_of(source, key.data));
            buffer_append(&file->text, key);
            buffer_append_byte(&file->text, ':');
            is_done = copy_json(source, item);
        }
        buffer_append_byte(&file->text, '}');
    }
    return is_done;
}

static bool read_json(struct declared_file *file, struct slice text, struct problem *problem)
{
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX, .members = MEMBERS_MAX};
    struct json_source source = {.file = file, .at = text.data, .line = 1, .problem = problem};
    struct json_fault fault;
    if (json_check(text, &limits, &fault) != STATUS_OK) {
        problem_set(problem, "%s:%zu: %s", file->name, line_of(&source, text.data + fault.offset),
                    fault.detail);
        return false;
    }
    return copy_json(&source, slice_trim(text));
}

/* ---- YAML ---- */

#ifdef DUEPOST_YAML

struct yaml_source {
    struct declared_file *file;
    yaml_document_t *document;
    struct problem *problem;
};

static bool yaml_fail(struct yaml_source *source, const yaml_node_t *node, const char *what)
{
    problem_set(source->problem, "%s:%zu: %s", source->file->name, node->start_mark.line + 1, what);
    return false;
}

/* Returns whether a plain scalar is a number, true, false or null, and sets *json to its JSON. Other words
 * are texts, as in YAML 1.2: yes, no, on and 08:00, too. */
static bool is_plain_value(struct slice text, struct slice *json)
{
    static const struct json_limits limits = {.depth = 1, .members = 1};
    static const struct {
        struct slice word, json;
    } words[] = {
        {SLICE_INIT(""), SLICE_INIT("null")},       {SLICE_INIT("~"), SLICE_INIT("null")},
        {SLICE_INIT("null"), SLICE_INIT("null")},   {SLICE_INIT("Null"), SLICE_INIT("null")},
        {SLICE_INIT("NULL"), SLICE_INIT("null")},   {SLICE_INIT("true"), SLICE_INIT("true")},
        {SLICE_INIT("True"), SLICE_INIT("true")},   {SLICE_INIT("TRUE"), SLICE_INIT("true")},
        {SLICE_INIT("false"), SLICE_INIT("false")}, {SLICE_INIT("False"), SLICE_INIT("false")},
        {SLICE_INIT("FALSE"), SLICE_INIT("false")},
    };
    struct json_fault fault;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_equal(text, words[i].word)) {
            *json = words[i].json;
            return true;
        }
    *json = text;
    return (text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9')) &&
           json_check(text, &limits, &fault) == STATUS_OK;
}

static bool copy_yaml(struct yaml_source *source, int index, size_t depth);

static bool copy_scalar(struct yaml_source *source, const yaml_node_t *node)
{
    struct slice text = slice_from((const char *)node->data.scalar.value, node->data.scalar.length), json;
    if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || !is_plain_value(text, &json))
        return put_text(source->file, text, node->start_mark.line + 1, source->problem);
    buffer_append(&source->file->text, json);
    return true;
}

static bool copy_mapping(struct yaml_source *source, const yaml_node_t *node, size_t depth)
{
    struct buffer *text = &source->file->text;
    bool is_done = true;
    buffer_append_byte(text, '{');
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         is_done && pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(source->document, pair->key);
        struct json_writer json = json_writer_to(text);
        if (key->type != YAML_SCALAR_NODE)
            return yaml_fail(source, key, "a name must be a text");
        if (pair > node->data.mapping.pairs.start)
            buffer_append_byte(text, ',');
        add_mark(source->file, key->start_mark.line + 1);
        json_put_text(&json, slice_from((const char *)key->data.scalar.value, key->data.scalar.length));
        buffer_append_byte(text, ':');
        is_done = copy_yaml(source, pair->value, depth + 1);
    }
    buffer_append_byte(text, '}');
    return is_done;
}

/* Aliases are copied where they are used, so the depth bounds those that contain themselves, and the size of
 * the text bounds those that multiply. */
static bool copy_yaml(struct yaml_source *source, int index, size_t depth)
{
    const yaml_node_t *node = yaml_document_get_node(source->document, index);
    struct buffer *text = &source->file->text;
    bool is_done = true;
    if (depth > JSON_DEPTH_MAX)
        return yaml_fail(source, node, "nests too deep");
    if (text->size > DECLARED_BYTES_MAX / 2)
        return yaml_fail(source, node, "the file with its aliases is too large");
    if (strncmp((const char *)node->tag, "tag:yaml.org,2002:", 18) != 0 ||
        (strcmp((const char *)node->tag + 18, "str") != 0 &&
         strcmp((const char *)node->tag + 18, "map") != 0 &&
         strcmp((const char *)node->tag + 18, "seq") != 0))
        return yaml_fail(source, node, "tags are not supported");
    add_mark(source->file, node->start_mark.line + 1);
    switch (node->type) {
    case YAML_SCALAR_NODE:
        return copy_scalar(source, node);
    case YAML_MAPPING_NODE:
        return copy_mapping(source, node, depth);
    default:
        buffer_append_byte(text, '[');
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             is_done && item < node->data.sequence.items.top; item++) {
            if (item > node->data.sequence.items.start)
                buffer_append_byte(text, ',');
            is_done = copy_yaml(source, *item, depth + 1);
        }
        buffer_append_byte(text, ']');
        return is_done;
    }
}

static bool read_yaml(struct declared_file *file, struct slice text, struct problem *problem)
{
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX, .members = MEMBERS_MAX};
    yaml_parser_t parser;
    yaml_document_t document, second;
    struct yaml_source source = {.file = file, .document = &document, .problem = problem};
    struct json_fault fault;
    bool is_done = false;
    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    if (!yaml_parser_load(&parser, &document)) {
        problem_set(problem, "%s:%zu: %s", file->name, parser.problem_mark.line + 1,
                    parser.problem ? parser.problem : "is not YAML");
        yaml_parser_delete(&parser);
        return false;
    }
    if (!yaml_document_get_root_node(&document))
        problem_set(problem, "%s is empty", file->name);
    else
        is_done = copy_yaml(&source, 1, 0);
    if (is_done && yaml_parser_load(&parser, &second)) {
        if (yaml_document_get_root_node(&second))
            is_done = yaml_fail(&source, yaml_document_get_root_node(&second), "expected one document");
        yaml_document_delete(&second);
    } else if (is_done) {
        problem_set(problem, "%s:%zu: %s", file->name, parser.problem_mark.line + 1, parser.problem);
        is_done = false;
    }
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    /* YAML permits a name twice, and bytes that JSON does not. */
    if (is_done && json_check(buffer_slice(&file->text), &limits, &fault) != STATUS_OK) {
        problem_set(problem, "%s:%zu: %s", file->name,
                    declared_file_line(file, file->text.data + fault.offset), fault.detail);
        is_done = false;
    }
    return is_done;
}

bool declared_library(struct library *library)
{
    library_set(library, "libyaml", yaml_get_version_string());
    return true;
}

#else

static bool read_yaml(struct declared_file *file, struct slice text, struct problem *problem)
{
    (void)text;
    problem_set(problem,
                "%s is not JSON, and this build of duepost reads no YAML (it was built without libyaml)",
                file->name);
    return false;
}

bool declared_library(struct library *library)
{
    (void)library;
    return false;
}

#endif

/* ---- the file ---- */

bool declared_text_read(struct declared_file *file, const char *name, struct slice text,
                        struct problem *problem)
{
    struct slice trimmed = slice_trim(text);
    bool is_done = false;
    *file = (struct declared_file){.name = name};
    buffer_init(&file->text, (size_t)2 * DECLARED_BYTES_MAX);
    if (trimmed.size == 0)
        problem_set(problem, "%s is empty", name);
    else if (trimmed.data[0] == '{')
        is_done = read_json(file, text, problem);
    else
        is_done = read_yaml(file, text, problem);
    if (is_done && file->text.failed) {
        problem_set(problem, "%s is too large", name);
        is_done = false;
    }
    return is_done;
}

bool declared_file_read(struct declared_file *declared, const char *path, struct problem *problem)
{
    bool is_input = strcmp(path, "-") == 0, is_done = false;
    const char *name = is_input ? "standard input" : path;
    FILE *file = is_input ? stdin : fopen(path, "re");
    struct buffer text;
    char chunk[8192];
    size_t size;
    *declared = (struct declared_file){.name = name};
    if (!file) {
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    buffer_init_fallible(&text, FILE_BYTES_MAX);
    while ((size = fread(chunk, 1, sizeof chunk, file)) > 0)
        buffer_append(&text, slice_from(chunk, size));
    if (ferror(file))
        problem_set(problem, "cannot read %s: %s", name, strerror(errno));
    else if (text.failed)
        problem_set(problem, "%s has more than 1 MiB", name);
    else
        is_done = declared_text_read(declared, name, buffer_slice(&text), problem);
    if (!is_input)
        fclose(file);
    buffer_fini(&text);
    return is_done;
}

void declared_file_fini(struct declared_file *file)
{
    buffer_fini(&file->text);
    free(file->marks);
}

/* json_check.c - checks whether a text is valid JSON, in one pass and without recursion. */
#include <assert.h>

#include "base/json_plain.h"
#include "base/utf8.h"
#include "job/json.h"
#include "job/json_keys.h"

struct frame {
    bool is_object;
    size_t first_key;
};

struct scanner {
    const char *start, *at, *end;
    const struct json_limits *limits;
    const char *fault; /* a literal */
    bool is_json;      /* see struct json_fault */
    bool has_no_memory;
    struct frame frames[JSON_DEPTH_MAX];
    size_t depth;
    struct json_keys keys;
};

enum byte_class { PLAIN, QUOTE, BACKSLASH, CONTROL, MULTI };

static const uint8_t byte_classes[256] = {
    [0 ... 0x1f] = CONTROL,
    ['"'] = QUOTE,
    ['\\'] = BACKSLASH,
    [0x80 ... 0xff] = MULTI,
};

static bool fail(struct scanner *scanner, const char *detail)
{
    scanner->fault = detail;
    return false;
}

/* Fails because the text breaks a rule of duepost, although JSON allows it. */
static bool forbid(struct scanner *scanner, const char *detail)
{
    scanner->is_json = true;
    return fail(scanner, detail);
}

static bool not_json(struct scanner *scanner)
{
    return fail(scanner, scanner->at == scanner->end ? "ends too early" : "is not valid JSON");
}

/* Returns the next byte, or NUL at the end of the text. A NUL inside the text leads to the same result,
 * because it is not valid JSON. */
static char peek(const struct scanner *scanner)
{
    return scanner->at < scanner->end ? *scanner->at : '\0';
}

static char skip_space(struct scanner *scanner)
{
    char byte = peek(scanner);
    while (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') {
        scanner->at++;
        byte = peek(scanner);
    }
    return byte;
}

/* Scans one character above U+007F. */
static bool scan_multi(struct scanner *scanner)
{
    const uint8_t *at = (const uint8_t *)scanner->at;
    size_t left = (size_t)(scanner->end - scanner->at);
    size_t size = utf8_size(*at);
    if (size == 0 || left < size || !utf8_is_sound(at, size))
        return fail(scanner, "is not valid UTF-8");
    scanner->at += size;
    return true;
}

/* Scans an escape, which begins with the backslash at scanner->at. */
static bool scan_escape(struct scanner *scanner, bool is_key)
{
    unsigned code;
    struct slice rest = slice_from(scanner->at, (size_t)(scanner->end - scanner->at));
    if (rest.size < 2)
        return fail(scanner, "ends too early");
    if (rest.data[1] != 'u') {
        if (rest.data[1] == '\0' || !strchr("\"\\/bfnrt", rest.data[1]))
            return fail(scanner, "has an unknown escape");
        scanner->at += 2;
        return true;
    }
    if (!json_take_code(
            &rest,
            &code)) /* JSON allows a lone surrogate, although it is not a character; duepost does not */
        return forbid(scanner, "has a broken escape or a lone surrogate");
    if (code == 0 && is_key)
        return forbid(scanner, "has a NUL in a key");
    scanner->at = rest.data;
    return true;
}

/* Scans a string. Moves scanner->at from the opening quote to the byte after the closing quote. */
static bool scan_string(struct scanner *scanner, bool is_key, bool *has_escapes)
{
    *has_escapes = false;
    scanner->at++;
    for (;;) {
        const char *at = json_plain_end(scanner->at, scanner->end);
        scanner->at = at;
        if (at == scanner->end)
            return fail(scanner, "ends too early");
        switch (byte_classes[(uint8_t)*at]) {
        case QUOTE:
            scanner->at++;
            return true;
        case BACKSLASH:
            *has_escapes = true;
            if (!scan_escape(scanner, is_key))
                return false;
            break;
        case MULTI:
            if (!scan_multi(scanner))
                return false;
            break;
        default:
            return fail(scanner, "has a control byte in a string");
        }
    }
}

static bool scan_digits(struct scanner *scanner)
{
    const char *first = scanner->at;
    while (peek(scanner) >= '0' && peek(scanner) <= '9')
        scanner->at++;
    return scanner->at > first || not_json(scanner);
}

static bool scan_number(struct scanner *scanner)
{
    if (peek(scanner) == '-')
        scanner->at++;
    if (peek(scanner) == '0')
        scanner->at++;
    else if (!scan_digits(scanner))
        return false;
    if (peek(scanner) == '.') {
        scanner->at++;
        if (!scan_digits(scanner))
            return false;
    }
    if (peek(scanner) != 'e' && peek(scanner) != 'E')
        return true;
    scanner->at++;
    if (peek(scanner) == '+' || peek(scanner) == '-')
        scanner->at++;
    return scan_digits(scanner);
}

static bool scan_word(struct scanner *scanner, struct slice word)
{
    if (!slice_starts_with(slice_from(scanner->at, (size_t)(scanner->end - scanner->at)), word))
        return not_json(scanner);
    scanner->at += word.size;
    return true;
}

static bool scan_scalar(struct scanner *scanner, char first)
{
    bool ignored;
    switch (first) {
    case '"':
        return scan_string(scanner, false, &ignored);
    case 't':
        return scan_word(scanner, SLICE("true"));
    case 'f':
        return scan_word(scanner, SLICE("false"));
    case 'n':
        return scan_word(scanner, SLICE("null"));
    default:
        return scan_number(scanner);
    }
}

/* Scans a key and its colon. */
static bool scan_key(struct scanner *scanner)
{
    bool has_escapes;
    const struct frame *frame = &scanner->frames[scanner->depth - 1];
    if (skip_space(scanner) != '"')
        return not_json(scanner);
    if (scanner->keys.count - frame->first_key == scanner->limits->members)
        return forbid(scanner, "has too many members in one object");
    const char *first = scanner->at;
    if (!scan_string(scanner, true, &has_escapes))
        return false;
    struct slice key = slice_from(first, (size_t)(scanner->at - first));
    if (!json_keys_add(&scanner->keys, key, has_escapes, (size_t)(scanner->end - first))) {
        scanner->has_no_memory = true;
        return false;
    }
    if (skip_space(scanner) != ':')
        return not_json(scanner);
    scanner->at++;
    return true;
}

static bool open_value(struct scanner *scanner, bool is_object)
{
    if (scanner->depth == scanner->limits->depth)
        return forbid(scanner, "nests too deep");
    scanner->frames[scanner->depth++] = (struct frame){is_object, scanner->keys.count};
    scanner->at++;
    return true;
}

static bool close_value(struct scanner *scanner)
{
    const struct frame *frame = &scanner->frames[--scanner->depth];
    const char *twin = json_keys_take(&scanner->keys, frame->first_key);
    if (twin) {
        scanner->at = twin;
        return forbid(scanner, "has a member twice");
    }
    scanner->at++;
    return true;
}

/* Scans one value. If the value is an object or array with contents, scans its opening bracket and continues
 * with the first value inside. */
static bool scan_value(struct scanner *scanner)
{
    for (;;) {
        char first = skip_space(scanner);
        if (first != '{' && first != '[')
            return scan_scalar(scanner, first);
        if (!open_value(scanner, first == '{'))
            return false;
        if (skip_space(scanner) == (first == '{' ? '}' : ']'))
            return true;
        if (first == '{' && !scan_key(scanner))
            return false;
    }
}

/* Scans the bytes after a value: first the closing brackets of the objects and arrays that end here, then the
 * comma before the next value. Stops at the next value, or after the outermost value. */
static bool scan_behind(struct scanner *scanner)
{
    while (scanner->depth > 0) {
        bool is_object = scanner->frames[scanner->depth - 1].is_object;
        char byte = skip_space(scanner);
        if (byte == ',') {
            scanner->at++;
            return !is_object || scan_key(scanner);
        }
        if (byte != (is_object ? '}' : ']'))
            return not_json(scanner);
        if (!close_value(scanner))
            return false;
    }
    return true;
}

static bool scan_text(struct scanner *scanner)
{
    do {
        if (!scan_value(scanner) || !scan_behind(scanner))
            return false;
    } while (scanner->depth > 0);
    skip_space(scanner);
    return scanner->at == scanner->end || not_json(scanner);
}

enum status json_check(struct slice text, const struct json_limits *limits, struct json_fault *fault)
{
    struct scanner scanner;
    assert(limits->depth <= JSON_DEPTH_MAX);
    scanner.start = scanner.at = text.data;
    scanner.end = slice_end(text);
    scanner.limits = limits;
    scanner.fault = NULL;
    scanner.is_json = false;
    scanner.has_no_memory = false;
    scanner.depth = 0;
    json_keys_init(&scanner.keys);

    bool is_sound = scan_text(&scanner);
    *fault = (struct json_fault){(size_t)(scanner.at - scanner.start), scanner.fault, scanner.is_json};
    json_keys_fini(&scanner.keys);
    if (scanner.has_no_memory)
        return STATUS_NO_MEMORY;
    return is_sound ? STATUS_OK : STATUS_INVALID;
}

#include "server/options_print.h"

#include "server/options_table.h"
#include "server/version.h"

enum { HELP_COLUMN = 30 };

static void options_print_help(FILE *out)
{
    fprintf(out, "Usage: duepost [OPTION]...\n"
                 "Takes a job over HTTP now and POSTs it to a URL when it is due.\n\n");
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        const struct option *option = &option_table[id];
        if (!option->help)
            continue;
        int width = fprintf(out, "  --%s %s", option->name, option->placeholder ? option->placeholder : "");
        fprintf(out, "%*s%s", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", option->help);
        if (option->fallback && option->fallback[0])
            fprintf(out, " (%s)", option->fallback);
        fputc('\n', out);
    }
    fprintf(out,
            "\nEach option can also be set in the environment (DUEPOST_MAX_BODY for --max-body) and in the\n"
            "configuration file (max-body = 2MiB). A flag overrides the environment, and the environment\n"
            "overrides the file. Durations: 500ms 15s 3m 1h 2d, or seconds. Sizes: bytes, KiB, MiB or GiB.\n"
            "\nduepost help lists the commands that call a running server.\n");
}

static void print_source(const struct options *options, enum option_id id, FILE *out)
{
    const struct option_setting *setting = &options->settings[id];
    char variable[OPTION_VARIABLE_MAX];
    switch (setting->source) {
    case OPTION_SOURCE_NONE:
        fprintf(out, "# not set\n");
        break;
    case OPTION_SOURCE_DEFAULT:
        fprintf(out, "# default\n");
        break;
    case OPTION_SOURCE_FILE:
        fprintf(out, "# from %s:%u\n", options->config, setting->line);
        break;
    case OPTION_SOURCE_ENVIRONMENT:
        option_variable(&option_table[id], variable);
        fprintf(out, "# from %s\n", variable);
        break;
    case OPTION_SOURCE_FLAG:
        fprintf(out, "# from --%s\n", option_table[id].name);
        break;
    }
}

/* Finds the password in the text of an option whose address may contain a password. Returns NULL if the text
 * has none. */
static const char *find_password(enum option_id id, const char *text, const char **at)
{
    const char *authority = strstr(text, "://");
    *at = strrchr(text, '@');
    if ((id != OPTION_REDIS && id != OPTION_EGRESS_PROXY && id != OPTION_HISTORY) || !authority || !*at ||
        *at < authority)
        return NULL;
    authority += strlen("://");
    const char *colon = memchr(authority, ':', (size_t)(*at - authority));
    return colon ? colon + 1 : NULL;
}

static void print_value(const struct options *options, enum option_id id, FILE *out)
{
    const char *text = options->settings[id].text, *at;
    const char *password = find_password(id, text, &at);
    if (password)
        fprintf(out, "%.*s***%s\n", (int)(password - text), text, at);
    else
        fprintf(out, "%s\n", text);
}

static void options_print_config(const struct options *options, FILE *out)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        if (option_table[id].kind == OPTION_KIND_SWITCH)
            continue;
        bool is_line = options->settings[id].text &&
                       id != OPTION_CONFIG; /* a configuration file must not contain the option config */
        print_source(options, id, out);
        fprintf(out, "%s%s =%s", is_line ? "" : "#", option_table[id].name,
                options->settings[id].text ? " " : "\n");
        if (options->settings[id].text)
            print_value(options, id, out);
    }
}

static void print_comment(const char *text, FILE *out)
{
    fprintf(out, "# ");
    for (; *text; text++) {
        fputc(*text, out);
        if (*text == '\n')
            fprintf(out, "# ");
    }
    fputc('\n', out);
}

static void options_print_reference(FILE *out)
{
    fprintf(out,
            "# duepost.conf - every option with its default. Generated from duepost's table of options.\n"
            "#\n"
            "# duepost reads " OPTIONS_CONFIG_FILE " if it exists, or the file of --config. A line is\n"
            "# \"name = value\", at most 190 bytes long. Lines that begin with # or ; are comments;\n"
            "# elsewhere these characters have no special meaning. A flag (--max-body 2MiB) overrides the\n"
            "# environment (DUEPOST_MAX_BODY=2MiB), and the environment overrides this file.\n");
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        const struct option *option = &option_table[id];
        if (option->kind == OPTION_KIND_SWITCH || id == OPTION_CONFIG)
            continue;
        fprintf(out, "\n# %s: %s\n", option->placeholder, option->help);
        if (option->text)
            print_comment(option->text, out);
        const char *fallback = option->fallback ? option->fallback : "";
        fprintf(out, "#%s =%s%s\n", option->name, fallback[0] ? " " : "", fallback);
    }
}

bool options_answer(const struct options *options, FILE *out)
{
    const struct option_setting *settings = options->settings;
    if (settings[OPTION_HELP].text)
        options_print_help(out);
    else if (settings[OPTION_VERSION].text)
        version_print(out);
    else if (settings[OPTION_PRINT_REFERENCE].text)
        options_print_reference(out);
    else if (settings[OPTION_PRINT_CONFIG].text)
        options_print_config(options, out);
    else
        return false;
    return true;
}

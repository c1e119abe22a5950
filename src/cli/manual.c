#include "cli/manual.h"

#include <ctype.h>
#include <string.h>

#include "base/slice.h"

/* ---- the help of a command, as items ---- */

enum item_kind {
    ITEM_TERM,      /* "  --limit N   at most N jobs": a term and its text */
    ITEM_MORE,      /* more text of the term before */
    ITEM_PARAGRAPH, /* a line that belongs to no term */
};

struct item {
    enum item_kind kind;
    struct slice term, text;
};

/* Takes the next line of a help text. Returns false at the end. */
static bool take_item(struct slice *help, struct item *item)
{
    struct slice line = SLICE(""), rest;
    while (help->size && slice_trim(line).size == 0)
        slice_cut(*help, '\n', &line, help);
    if (slice_trim(line).size == 0)
        return false;
    *item = (struct item){ITEM_PARAGRAPH, SLICE(""), slice_trim(line)};
    if (line.data[0] != ' ')
        return true;
    size_t indent = 0;
    while (line.data[indent] == ' ')
        indent++;
    if (indent > 2) {
        item->kind = ITEM_MORE;
        return true;
    }
    rest = slice_skip(line, indent);
    const char *gap = memmem(rest.data, rest.size, "  ", 2);
    item->kind = ITEM_TERM;
    item->term = gap ? slice_from(rest.data, (size_t)(gap - rest.data)) : rest;
    item->text = slice_trim(slice_skip(rest, item->term.size));
    return true;
}

/* Takes the next flag of a term such as "-f, --file FILE". Returns false if there are no more; term is then
 * the placeholder. */
static bool take_flag(struct slice *term, struct slice *flag)
{
    struct slice rest;
    if (term->size == 0 || term->data[0] != '-')
        return false;
    slice_cut(*term, ' ', flag, &rest);
    *term = slice_trim(rest);
    if (flag->data[flag->size - 1] == ',')
        flag->size--;
    return true;
}

/* The options that each command has that calls a server. */
static const char common_help[] =
    "  --json                prints JSON\n"
    "  --server URL          the server; default: DUEPOST_SERVER, else http://127.0.0.1:7700\n"
    "  --token-file FILE     a file with the token; default: DUEPOST_TOKEN, else no token\n"
    "  --ca-file FILE        certificates that https trusts; default: those of this host\n";

/* An option, of a command or of the server. */
struct flag {
    struct slice name;        /* "--limit" or "-f" */
    struct slice placeholder; /* empty: the option has no value */
    struct slice text;
};

typedef void flag_fn(FILE *, const struct flag *);

static void visit_help(struct slice help, FILE *out, flag_fn *fn)
{
    struct item item;
    while (take_item(&help, &item)) {
        struct slice term = item.term, placeholder = item.term, name;
        if (item.kind != ITEM_TERM)
            continue;
        while (take_flag(&placeholder, &name))
            ;
        while (take_flag(&term, &name))
            fn(out, &(struct flag){name, placeholder, item.text});
    }
}

static void visit_server(const struct manual *manual, FILE *out, flag_fn *fn)
{
    for (size_t i = 0; i < manual->option_count; i++) {
        char name[80];
        const struct cli_option *option = &manual->options[i];
        snprintf(name, sizeof name, "--%s", option->name);
        fn(out, &(struct flag){slice_of(name), slice_of(option->placeholder), slice_of(option->help)});
    }
}

/* Visits all options of a command. */
static void visit_flags(const struct manual *manual, const struct command *command, FILE *out, flag_fn *fn)
{
    visit_help(slice_of(command->options), out, fn);
    if (command->run && !manual->is_local(command))
        visit_help(slice_of(common_help), out, fn);
    if (!command->run) /* duepost check has the options of the server */
        visit_server(manual, out, fn);
}

static bool is_file(const struct flag *flag)
{
    return slice_equal(flag->placeholder, SLICE("FILE")) || slice_equal(flag->placeholder, SLICE("DIR")) ||
           slice_equal(flag->placeholder, SLICE("PATH"));
}

/* Takes the next word of "on|off", or returns false. A placeholder without '|' has no words. */
static bool take_choice(struct slice *rest, struct slice *choice)
{
    return rest->size && (slice_cut(*rest, '|', choice, rest), true);
}

static bool has_choices(const struct flag *flag)
{
    return flag->placeholder.size && memchr(flag->placeholder.data, '|', flag->placeholder.size);
}

/* Takes the next verb of a command's words, such as export of "export | stats | delete". */
static bool take_verb(struct slice *words, struct slice *verb)
{
    while (words->size) {
        struct slice part;
        slice_cut(*words, '|', &part, words);
        size_t at = 0, size = 0;
        while (at < part.size && strchr(" [", part.data[at]))
            at++;
        while (at + size < part.size &&
               (islower((unsigned char)part.data[at + size]) || part.data[at + size] == '-'))
            size++;
        *verb = slice_from(part.data + at, size);
        if (size > 1 && verb->data[0] != '-')
            return true;
    }
    return false;
}

/* ---- bash ---- */

static void bash_name(FILE *out, const struct flag *flag)
{
    fprintf(out, "%.*s ", SLICE_ARG(flag->name));
}

static void bash_file(FILE *out, const struct flag *flag)
{
    if (is_file(flag))
        bash_name(out, flag);
}

static void bash_value(FILE *out, const struct flag *flag)
{
    if (flag->placeholder.size && !is_file(flag) && !has_choices(flag))
        bash_name(out, flag);
}

static void bash_choices(FILE *out, const struct flag *flag)
{
    struct slice rest = flag->placeholder, choice;
    if (!has_choices(flag))
        return;
    fprintf(out, "            %.*s) words='", SLICE_ARG(flag->name));
    while (take_choice(&rest, &choice))
        fprintf(out, "%.*s ", SLICE_ARG(choice));
    fputs("' ;;\n", out);
}

static void bash_lists(const struct manual *manual, const struct command *command, FILE *out,
                       void (*visit)(const struct manual *, const struct command *, FILE *, flag_fn *))
{
    fputs("        options='", out);
    visit(manual, command, out, bash_name);
    fputs("'\n        files='", out);
    visit(manual, command, out, bash_file);
    fputs("'\n        values='", out);
    visit(manual, command, out, bash_value);
    fputs("'\n        case $previous in\n", out);
    visit(manual, command, out, bash_choices);
    fputs("            *) false ;;\n        esac && is_value=1\n        ;;\n", out);
}

static void visit_only_server(const struct manual *manual, const struct command *command, FILE *out,
                              flag_fn *fn)
{
    (void)command;
    visit_server(manual, out, fn);
}

static void print_command_names(const struct manual *manual, FILE *out)
{
    for (size_t i = 0; i < manual->command_count; i++)
        fprintf(out, "%s ", manual->commands[i].name);
}

static void bash_print(const struct manual *manual, FILE *out)
{
    fputs("# bash completion for duepost, made by: duepost completion bash\n"
          "_duepost()\n{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local words= options= files= values= is_value= command=${COMP_WORDS[1]}\n"
          "    COMPREPLY=()\n"
          "    [[ $COMP_CWORD -gt 1 ]] || previous=\n"
          "    if [[ $COMP_CWORD -eq 1 && $current != -* ]]; then\n        command='' words='",
          out);
    print_command_names(manual, out);
    fputs("'\n    fi\n    case $command in\n    -*)\n", out);
    bash_lists(manual, NULL, out, visit_only_server);
    for (size_t i = 0; i < manual->command_count; i++) {
        const struct command *command = &manual->commands[i];
        struct slice rest = slice_of(command->words), verb;
        fprintf(out, "    %s)\n        words='", command->name);
        if (strcmp(command->name, "help") == 0)
            print_command_names(manual, out);
        while (take_verb(&rest, &verb))
            fprintf(out, "%.*s ", SLICE_ARG(verb));
        fputs("'\n", out);
        bash_lists(manual, command, out, visit_flags);
    }
    fputs("    esac\n"
          "    if [[ \" $files \" == *\" $previous \"* && $previous == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        return\n"
          "    fi\n"
          "    [[ \" $values \" == *\" $previous \"* && $previous == -* ]] && return\n"
          "    [[ $current == -* && ! $is_value ]] && words=$options\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "}\n"
          "complete -F _duepost duepost\n",
          out);
}

/* ---- zsh ---- */

/* Prints text for a string in single quotes; escaped has the characters that get a backslash. */
static void print_quoted(FILE *out, struct slice text, const char *escaped, const char *quote)
{
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        if (byte == '\'') {
            fputs(quote, out);
            continue;
        }
        if (byte && strchr(escaped, byte))
            fputc('\\', out);
        fputc(byte, out);
    }
}

#define ZSH_QUOTE "'\\''"

static void zsh_flag(FILE *out, const struct flag *flag)
{
    struct slice rest = flag->placeholder, choice;
    fprintf(out, "            '*%.*s[", SLICE_ARG(flag->name));
    print_quoted(out, flag->text, "[]:\\", ZSH_QUOTE);
    fputc(']', out);
    if (flag->placeholder.size) {
        fputc(':', out);
        print_quoted(out, flag->placeholder, ":\\", ZSH_QUOTE);
        fputc(':', out);
    }
    if (is_file(flag))
        fputs("_files", out);
    if (has_choices(flag)) {
        fputc('(', out);
        while (take_choice(&rest, &choice))
            fprintf(out, "%.*s ", SLICE_ARG(choice));
        fputc(')', out);
    }
    fputs("' \\\n", out);
}

static void zsh_print(const struct manual *manual, FILE *out)
{
    fputs("#compdef duepost\n# zsh completion for duepost, made by: duepost completion zsh\n"
          "_duepost()\n{\n    local -a commands\n    commands=(\n",
          out);
    for (size_t i = 0; i < manual->command_count; i++) {
        fprintf(out, "        '%s:", manual->commands[i].name);
        print_quoted(out, slice_of(manual->commands[i].help), ":\\", ZSH_QUOTE);
        fputs("'\n", out);
    }
    fputs("    )\n    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
          "        _describe -t commands command commands\n        return\n    fi\n"
          "    case $words[2] in\n    -*)\n        _arguments \\\n",
          out);
    visit_server(manual, out, zsh_flag);
    fputs("            && return\n        ;;\n", out);
    for (size_t i = 0; i < manual->command_count; i++) {
        const struct command *command = &manual->commands[i];
        struct slice rest = slice_of(command->words), verb;
        fprintf(out, "    %s)\n        shift words\n        (( CURRENT-- ))\n        _arguments \\\n",
                command->name);
        visit_flags(manual, command, out, zsh_flag);
        fputs("            '1:word:(", out);
        if (strcmp(command->name, "help") == 0)
            print_command_names(manual, out);
        while (take_verb(&rest, &verb))
            fprintf(out, "%.*s ", SLICE_ARG(verb));
        fputs(")' && return\n        ;;\n", out);
    }
    fputs("    esac\n}\n"
          "if [[ $funcstack[1] == _duepost ]]; then\n    _duepost \"$@\"\nelse\n    compdef _duepost "
          "duepost\nfi\n",
          out);
}

/* ---- fish ---- */

#define FISH_QUOTE "\\'"

/* The condition of the next options: fish has no blocks. */
static const char *fish_condition;

static void fish_flag(FILE *out, const struct flag *flag)
{
    struct slice rest = flag->placeholder, choice;
    bool is_long = slice_starts_with(flag->name, SLICE("--"));
    struct slice name = slice_skip(flag->name, is_long ? 2 : 1);
    fprintf(out, "complete -c duepost -n '%s' -%c %.*s", fish_condition, is_long ? 'l' : 's',
            SLICE_ARG(name));
    if (flag->placeholder.size)
        fputs(is_file(flag) ? " -r -F" : " -x", out);
    if (has_choices(flag)) {
        fputs(" -a '", out);
        while (take_choice(&rest, &choice))
            fprintf(out, "%.*s ", SLICE_ARG(choice));
        fputc('\'', out);
    }
    fputs(" -d '", out);
    print_quoted(out, flag->text, "\\", FISH_QUOTE);
    fputs("'\n", out);
}

static void fish_print(const struct manual *manual, FILE *out)
{
    fputs("# fish completion for duepost, made by: duepost completion fish\ncomplete -c duepost -f\n", out);
    for (size_t i = 0; i < manual->command_count; i++) {
        fprintf(out, "complete -c duepost -n __fish_use_subcommand -a %s -d '", manual->commands[i].name);
        print_quoted(out, slice_of(manual->commands[i].help), "\\", FISH_QUOTE);
        fputs("'\n", out);
    }
    fish_condition = "__fish_use_subcommand";
    visit_server(manual, out, fish_flag);
    for (size_t i = 0; i < manual->command_count; i++) {
        const struct command *command = &manual->commands[i];
        struct slice rest = slice_of(command->words), verb;
        char condition[128];
        snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s", command->name);
        fish_condition = condition;
        fprintf(out, "complete -c duepost -n '%s' -a '", condition);
        if (strcmp(command->name, "help") == 0)
            print_command_names(manual, out);
        while (take_verb(&rest, &verb))
            fprintf(out, "%.*s ", SLICE_ARG(verb));
        fputs("'\n", out);
        visit_flags(manual, command, out, fish_flag);
        fish_condition = NULL;
    }
}

bool manual_print_completion(const struct manual *manual, const char *shell, FILE *out)
{
    static const struct {
        const char *shell;
        void (*print)(const struct manual *, FILE *);
    } shells[] = {{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].print(manual, out);
            return true;
        }
    return false;
}

/* ---- the manual page ---- */

/* Prints text for man(7). A line that began with '.' or '\'' would be a request. */
static void man_text(FILE *out, struct slice text)
{
    if (text.size && (text.data[0] == '.' || text.data[0] == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < text.size; i++) {
        switch (text.data[i]) {
        case '\\':
            fputs("\\e", out);
            break;
        case '-':
            fputs("\\-", out);
            break;
        case '\'':
            fputs("\\(aq", out);
            break;
        case '^':
            fputs("\\(ha", out);
            break;
        case '~':
            fputs("\\(ti", out);
            break;
        default:
            fputc(text.data[i], out);
        }
    }
}

static void man_line(FILE *out, struct slice text)
{
    man_text(out, text);
    fputc('\n', out);
}

static void man_term(FILE *out, struct slice name, struct slice placeholder)
{
    fputs(".TP\n\\fB", out);
    man_text(out, name);
    fputs("\\fR", out);
    if (placeholder.size) {
        fputs(" \\fI", out);
        man_text(out, placeholder);
        fputs("\\fR", out);
    }
    fputc('\n', out);
}

static void man_help(FILE *out, struct slice help)
{
    struct item item;
    bool is_paragraph = false;
    while (take_item(&help, &item)) {
        struct slice name = item.term, rest = SLICE("");
        if (item.kind == ITEM_TERM) {
            size_t size = 0;
            struct slice placeholder = item.term, flag;
            while (take_flag(&placeholder, &flag))
                size = item.term.size - placeholder.size;
            if (size) {
                name = slice_trim(slice_from(item.term.data, size));
                rest = placeholder;
            }
            man_term(out, name, rest);
        } else if (item.kind == ITEM_PARAGRAPH && !is_paragraph) {
            fputs(".PP\n", out);
        }
        is_paragraph = item.kind == ITEM_PARAGRAPH;
        if (item.text.size)
            man_line(out, item.text);
    }
}

/* Prints the further text of an option: an empty line begins a paragraph, and an indented line is an
 * example. */
static void man_paragraphs(FILE *out, struct slice text)
{
    struct slice line;
    fputs(".IP\n", out);
    while (text.size) {
        slice_cut(text, '\n', &line, &text);
        bool is_example = line.size && line.data[0] == ' ';
        if (line.size == 0)
            fputs(".IP\n", out);
        if (is_example)
            fputs(".br\n", out);
        if (line.size)
            man_line(out, slice_trim(line));
        if (is_example)
            fputs(".br\n", out);
    }
}

static void man_commands(const struct manual *manual, FILE *out)
{
    fputs(".SH COMMANDS\nA command calls the API of a running server. Each command that calls a server has "
          "these "
          "options:\n",
          out);
    man_help(out, slice_of(common_help));
    for (size_t i = 0; i < manual->command_count; i++) {
        const struct command *command = &manual->commands[i];
        fputs(".SS \"duepost ", out);
        man_text(out, slice_of(command->name));
        if (*command->words)
            fputc(' ', out);
        man_text(out, slice_of(command->words));
        fputs("\"\nThe command ", out);
        man_text(out, slice_of(command->help));
        fputs(".\n", out);
        if (command->options)
            man_help(out, slice_of(command->options));
    }
}

void manual_print(const struct manual *manual, FILE *out)
{
    fputs(".\\\" Made by duepost \\-\\-print\\-man from the tables of its commands and options.\n"
          ".TH DUEPOST 1 \"\" \"duepost " DUEPOST_VERSION "\" \"User Commands\"\n"
          ".ad l\n.nh\n"
          ".SH NAME\nduepost \\- POSTs jobs to URLs when they are due\n"
          ".SH SYNOPSIS\n\\fBduepost\\fR [\\fIOPTION\\fR]...\n.br\n\\fBduepost\\fR \\fICOMMAND\\fR "
          "[\\fIARGUMENT\\fR]...\n"
          ".SH DESCRIPTION\n"
          "duepost takes a job over HTTP now and POSTs it to a URL when it is due, and again if an attempt "
          "fails. Jobs are "
          "kept in Redis.\n.PP\n"
          "Without a command, duepost is the server; the section OPTIONS has its options. With a command, it "
          "is a client of "
          "a running server; see COMMANDS.\n",
          out);
    man_commands(manual, out);
    fputs(".SH OPTIONS\nThe options of the server. Each can also be set in the environment (DUEPOST_MAX_BODY "
          "for "
          "\\-\\-max\\-body) and in the configuration file (max\\-body = 2MiB). A flag overrides the "
          "environment, and the "
          "environment overrides the file. Durations are 500ms 15s 3m 1h 2d, or seconds. Sizes are bytes, "
          "KiB, MiB or GiB.\n",
          out);
    for (size_t i = 0; i < manual->option_count; i++) {
        const struct cli_option *option = &manual->options[i];
        char name[80];
        snprintf(name, sizeof name, "--%s", option->name);
        man_term(out, slice_of(name), slice_of(option->placeholder));
        man_text(out, slice_of(option->help));
        if (option->fallback && option->fallback[0]) {
            fputs(" (", out);
            man_text(out, slice_of(option->fallback));
            fputc(')', out);
        }
        fputc('\n', out);
        if (option->text)
            man_paragraphs(out, slice_of(option->text));
    }
    fputs(".SH ENVIRONMENT\n"
          ".TP\n\\fBDUEPOST_SERVER\\fR, \\fBDUEPOST_TOKEN\\fR\nThe server that commands call, and the token "
          "for it.\n"
          ".TP\n\\fBNO_COLOR\\fR\nIf it is set, commands print no colours.\n"
          ".PP\nOther variables DUEPOST_... are options of the server.\n"
          ".SH FILES\n.TP\n\\fI/etc/duepost/duepost.conf\\fR\nThe options of the server, unless \\-\\-config "
          "names another "
          "file. Its lines are \\(lqname = value\\(rq.\n"
          ".SH EXIT STATUS\n0 after success; 2 if the command line is wrong, and nothing was sent; 1 after "
          "any other error. "
          "\\fBduepost diff\\fR has the exit statuses of diff(1).\n"
          ".SH SEE ALSO\nThe guides in \\fI/usr/share/doc/duepost\\fR, \\fBredis\\-server\\fR(1).\n",
          out);
}

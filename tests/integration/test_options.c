/* Tests options from all sources, as an operator writes them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/options/options.h"
#include "server/options/options_private.h"
#include "support/suite.h"

enum { ARGUMENTS_MAX = 16 };

static char file_path[] = "/tmp/duepost-options-XXXXXX";
static struct options options;
static struct problem problem;

static void make_file(void)
{
    int fd = mkstemp(file_path);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void remove_file(void)
{
    unlink(file_path);
}

static void write_bytes(const char *text, size_t size)
{
    FILE *file = fopen(file_path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fwrite(text, 1, size, file), size);
    fclose(file);
}

static void write_file(const char *text)
{
    write_bytes(text, strlen(text));
}

/* Splits text into words at each '|'. A NULL follows the last word. */
static void split(char *text, char **words)
{
    size_t count = 0;
    for (char *save = NULL, *word = strtok_r(text, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
        ck_assert_int_lt(count, ARGUMENTS_MAX - 1);
        words[count++] = word;
    }
    words[count] = NULL;
}

/* Loads the options. flags and environment have words separated by '|'. The configuration file is the default
 * file. */
static enum status load(const char *flags, const char *environment)
{
    char flag_text[1024], environment_text[2048];
    char *words[ARGUMENTS_MAX], *variables[ARGUMENTS_MAX];
    snprintf(flag_text, sizeof flag_text, "duepost|%s", flags);
    snprintf(environment_text, sizeof environment_text, "HOME=/home/u|%s", environment);
    split(flag_text, words);
    split(environment_text, variables);
    struct options_input input = {.argv = words, .environment = variables, .config_file = file_path};
    while (words[input.argc])
        input.argc++;
    problem.text[0] = '\0';
    return options_load(&options, &input, &problem);
}

static void load_well(const char *flags, const char *environment)
{
    ck_assert_msg(load(flags, environment) == STATUS_OK, "%s", problem.text);
}

/* Returns the output of options_answer. The caller frees it. */
static char *answer(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ck_assert(options_answer(&options, out));
    fclose(out);
    return text;
}

static void check_password(struct secret *password, const char *text)
{
    char *copy = secret_copy(password);
    ck_assert_str_eq(copy, text);
    secret_free_copy(copy);
}

START_TEST(defaults_are_safe)
{
    write_file("");
    load_well("", "");
    ck_assert_str_eq(options.listen.host, "127.0.0.1");
    ck_assert_int_eq(options.listen.port, 7700);
    ck_assert(options.is_embedded);
    ck_assert_str_eq(options.data_dir, "/home/u/.local/state/duepost");
    ck_assert(!options.is_durability_set && !options.is_clock_manual);
    ck_assert_int_ge(options.reactors, 1);
    ck_assert_int_le(options.reactors, 4);
    ck_assert_int_eq(options.max_in_flight, 1024);
    ck_assert_int_eq(options.max_in_flight_topic, 256);
    ck_assert_int_eq(options.max_body_bytes, 1 << 20);
    ck_assert_int_eq(options.max_jobs, 0);
    ck_assert_int_eq(options.retry_schedule.count, retry_schedule_default.count);
    ck_assert_mem_eq(options.retry_schedule.wait_ms, retry_schedule_default.wait_ms,
                     retry_schedule_default.count * sizeof(int64_t));
    ck_assert_str_eq(options.prefix, "duepost:");
    ck_assert_ptr_null(options.log);
    ck_assert_ptr_null(options.receiver_ca);
    ck_assert_int_eq(options.log_format, LOG_FORMAT_LOGFMT);
    ck_assert_int_eq(options.log_level, LOG_LEVEL_INFO);
    ck_assert_int_eq(options.drain_timeout_ms, 30000);
    ck_assert(options.is_breaker_on);
    ck_assert_int_eq(options.breaker_wait_ms, 30000);
    ck_assert_int_eq(options.warning_count, 0);
    ck_assert(!options_answer(&options, stdout));
    options_fini(&options);
}
END_TEST

START_TEST(a_flag_wins_over_the_environment_and_that_over_the_file)
{
    write_file("max-body = 1\nmax-jobs = 1\nprefix = file:\n");
    load_well("--max-body|3", "DUEPOST_MAX_BODY=2|DUEPOST_MAX_JOBS=2");
    ck_assert_int_eq(options.max_body_bytes, 3);
    ck_assert_int_eq(options.max_jobs, 2);
    ck_assert_str_eq(options.prefix, "file:");
    options_fini(&options);
    load_well("--max-body=4|--max-body=5", "DUEPOST_PREFIX=");
    ck_assert_int_eq(options.max_body_bytes, 5);
    ck_assert_str_eq(options.prefix, "file:");
    options_fini(&options);
}
END_TEST

static const struct {
    const char *flags;
    const char *environment;
    const char *file;
    const char *problem; /* "FILE" stands for the path of the file */
} refused[] = {
    {"--max-body|2x", "", "",
     "--max-body: must be a size from 1 to 16777216 bytes such as 65536, 512KiB or 1MiB, not '2x'"},
    {"", "DUEPOST_MAX_BODY=2x", "", "DUEPOST_MAX_BODY: must be a size"},
    {"", "", "# c\n\nmax-body = 2x\n", "FILE:3: max-body: must be a size"},
    {"--max-body|1", "DUEPOST_MAX_BODY=2x", "", "DUEPOST_MAX_BODY: must be a size"},
    {"--max-body|1", "", "max-body = 2x\n", "FILE:1: max-body: must be a size"},
    {"--nope", "", "", "--nope: unknown option; --help lists all options"},
    {"--nope=1", "", "", "--nope: unknown option; --help lists all options"},
    {"--reactor=2", "", "", "--reactor: unknown option; did you mean --reactors? --help lists all options"},
    {"--maxJobs", "", "", "--maxJobs: unknown option; did you mean --max-jobs? --help lists all options"},
    {"--verison", "", "", "--verison: unknown option; did you mean --version? --help lists all options"},
    {"--server=http://h", "", "",
     "--server: is an option of commands and follows the command, such as duepost jobs --server"},
    {"--json", "", "",
     "--json: is an option of commands and follows the command, such as duepost jobs --json"},
    {"nope", "", "", "nope: unexpected argument; options begin with --, see --help"},
    {"-v", "", "", "-v: unexpected argument; options begin with --, see --help"},
    {"--log", "", "", "--log: needs a value"},
    {"--log|--help", "", "", "--log: needs a value"},
    {"--help=yes", "", "", "--help: does not take a value"},
    {"--log=", "", "", "--log: must be given a value"},
    {"--max-body=0", "", "", "--max-body: must be a size"},
    {"--max-body=16385KiB", "", "", "--max-body: must be a size"},
    {"--max-body=KiB", "", "", "--max-body: must be a size"},
    {"--max-body=1GiB", "", "", "--max-body: must be a size"},
    {"--reactors=0", "", "", "--reactors: must be a number from 1 to 64, not '0'"},
    {"--reactors=65", "", "", "--reactors: must be a number from 1 to 64, not '65'"},
    {"--reactors=-1", "", "", "--reactors: must be a number from 1 to 64, not '-1'"},
    {"--max-in-flight=99999999999999999999", "", "", "--max-in-flight: must be a number from 0 to 65536"},
    {"--drain-timeout=2d", "", "", "--drain-timeout: must be a duration from 0s to 1d"},
    {"--header-timeout=0", "", "", "--header-timeout: must be a duration from 100ms to 1d"},
    {"--drain-timeout=soon", "", "", "--drain-timeout: must be a duration from 0s to 1d"},
    {"--listen=127.0.0.1", "", "", "--listen: must be HOST:PORT"},
    {"--listen=:7700", "", "", "--listen: must be HOST:PORT"},
    {"--listen=::1:7700", "", "", "--listen: must be HOST:PORT"},
    {"--listen=[::1]7700", "", "", "--listen: must be HOST:PORT"},
    {"--listen=[::1", "", "", "--listen: must be HOST:PORT"},
    {"--listen=[localhost]:1", "", "", "--listen: must be HOST:PORT"},
    {"--listen=h:65536", "", "", "--listen: must be HOST:PORT"},
    {"--listen=h:", "", "", "--listen: must be HOST:PORT"},
    {"--redis=localhost", "", "", "--redis: this is not an address of Redis"},
    {"--redis=redis://u:secret@h", "", "", "--redis: a password in a flag can be read by every user"},
    {"--durability=disk", "", "",
     "--durability: must be memory, fsync, replicated:N, fsync+replicated:N or auto, not 'disk'"},
    {"--retry-schedule=1s soon", "", "", "--retry-schedule: 'soon' is not a wait"},
    {"--allow-target=10.0.0.0/99", "", "", "--allow-target: '10.0.0.0/99' is not a CIDR block"},
    {"--prefix={x}", "", "", "--prefix: must be 1 to 64 bytes without braces"},
    {"--prefix=a b", "", "", "--prefix: must be 1 to 64 bytes without braces"},
    {"--prefix=a\x7f", "", "", "--prefix: must be 1 to 64 bytes without braces"},
    {"--prefix=", "", "", "--prefix: must be 1 to 64 bytes without braces"},
    {"--log-format=xml", "", "", "--log-format: must be logfmt or json, not 'xml'"},
    {"--log-level=loud", "", "", "--log-level: must be debug, info, warning or error, not 'loud'"},
    {"--receiver-ca=/nonexistent", "", "", "--receiver-ca: cannot read /nonexistent: No such file"},
    {"--config=/nonexistent", "", "", "--config: cannot read /nonexistent: No such file"},
    {"", "DUEPOST_CONFIG=/", "", "DUEPOST_CONFIG: cannot read /: Is a directory"},
    {"--redis-password-file=/etc/hostname", "", "", "--redis-password-file: needs --redis"},
    {"--redis-password-file=/nonexistent|--redis=redis://h", "", "",
     "--redis-password-file: cannot read /nonexistent: No such file"},
    {"--redis-password-file=/dev/null|--redis=redis://h", "", "",
     "the file must have exactly one line: the password"},
    {"--redis-password-file=/etc/passwd|--redis=redis://h", "", "",
     "the file must have exactly one line: the password"},
    {"--redis-password-file=/etc/hostname", "DUEPOST_REDIS=redis://:s@h", "",
     "the address of Redis already has a password"},
    {"--sentinel-password-file=/etc/hostname|--redis=redis://h", "", "",
     "--sentinel-password-file: needs Sentinels"},
    {"--sentinel-user=u|--redis=cluster://h", "", "", "--sentinel-user: needs Sentinels"},
    {"--sentinel-user=u|--redis=sentinel://h/main", "", "",
     "--sentinel-user: needs sentinel-password-file, too"},
    {"--sentinel-password-file=/dev/null|--redis=sentinel://h/main", "", "",
     "the file must have exactly one line: the password"},
    {"", "", "max-body\n", "FILE:1: this line is not \"name = value\""},
    {"", "", "\n  max-body = 1\n", "FILE:2: this line begins with a space"},
    {"", "", "prefix = a:\n  b\n", "FILE:2: this line begins with a space"},
    {"", "", "[duepost]\n", "FILE:1: sections are not supported; remove this line"},
    {"", "", "nope = 1\n", "FILE:1: unknown option 'nope'"},
    {"", "", "max_jobs = 1\n",
     "FILE:1: unknown option 'max_jobs'; did you mean max-jobs? duepost --help lists all options"},
    {"", "", "help = 1\n", "FILE:1: unknown option 'help'; duepost --help lists all options"},
    {"", "", "hlep = 1\n", "FILE:1: unknown option 'hlep'; duepost --help lists all options"},
    {"", "", "config = x\n", "FILE:1: unknown option 'config'"},
    {"", "", "max-jobs = 1\nmax-jobs = 2\n", "FILE:2: max-jobs is already set in line 1"},
    {"", "", "max-jobs = 1 ; many\n",
     "FILE:1: max-jobs: must be a number from 0 to 1000000000000, not '1 ; many'"},
    {"", "",
     "prefix = a\x01"
     "b\n",
     "FILE:1: this line has a control character"},
    {"--clock|Manual", "", "", "--clock: must be redis or manual, not 'Manual'"},
    {"--clock|manual", "DUEPOST_REDIS=unix:/r", "",
     "--clock: manual cannot be combined with redis: only a private Redis can have a manual clock; leave "
     "redis out"},
    {"", "", "redis = unix:/r\nclock = manual\n", "FILE:2: clock: manual cannot be combined with redis"},
    {"", "", "junk\nmax-jobs = x y\n[z]\n", "FILE:3: sections are not supported; remove this line"},
};

START_TEST(a_wrong_option_is_told_with_its_place)
{
    char expected[600];
    const char *rest = refused[_i].problem;
    write_file(refused[_i].file);
    ck_assert_int_eq(load(refused[_i].flags, refused[_i].environment), STATUS_INVALID);
    bool is_in_file = strncmp(rest, "FILE", 4) == 0;
    snprintf(expected, sizeof expected, "%s%s", is_in_file ? file_path : "", is_in_file ? rest + 4 : rest);
    ck_assert_msg(strstr(problem.text, expected) != NULL, "got: %s, expected: %s", problem.text, expected);
    ck_assert_ptr_null(strstr(problem.text, "secret"));
}
END_TEST

START_TEST(lines_are_bounded_and_nothing_is_cut)
{
    char line[256] = "log = /";
    memset(line + 7, 'x', 183);
    strcpy(line + 190, "\n");
    write_file(line);
    load_well("", "");
    ck_assert_int_eq(strlen(options.log), 184);
    options_fini(&options);
    strcpy(line + 190, "y\n");
    write_file(line);
    ck_assert_int_eq(load("", ""), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(problem.text, ":1: this line is too long; the maximum is 190 bytes"));
    write_bytes("prefix = a\0b\n", 13);
    ck_assert_int_eq(load("", ""), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(problem.text, ":1: this line has a control character"));
}
END_TEST

START_TEST(the_file_takes_values_as_they_stand)
{
    write_file("\xef\xbb\xbf; comment\r\n# comment\r\n   # comment = x\nlog\t=  /tmp/a ;b #c  \r\n"
               "prefix=p=q;\nallow-target = ::1\nallow-target = 10.0.0.0/8\nlisten = [::1]:0");
    load_well("", "");
    ck_assert_str_eq(options.log, "/tmp/a ;b #c");
    ck_assert_str_eq(options.prefix, "p=q;");
    ck_assert_str_eq(options.settings[OPTION_ALLOW_TARGET].text, "::1,10.0.0.0/8");
    ck_assert_str_eq(options.listen.host, "::1");
    ck_assert_int_eq(options.listen.port, 0);
    options_fini(&options);
}
END_TEST

START_TEST(a_missing_default_file_is_fine)
{
    write_file("");
    unlink(file_path);
    load_well("", "");
    ck_assert_ptr_null(options.config);
    options_fini(&options);
}
END_TEST

START_TEST(values_become_what_they_mean)
{
    struct address ten;
    write_file("");
    load_well(
        "--max-body|512KiB|--drain-timeout|1.5|--retry-schedule|1s,2m|--durability|fsync|--log-format|json"
        "|--log-level|debug",
        "DUEPOST_ALLOW_TARGET=10.0.0.0/8");
    ck_assert_int_eq(options.max_body_bytes, 512 * 1024);
    ck_assert_int_eq(options.drain_timeout_ms, 1500);
    ck_assert_int_eq(options.retry_schedule.count, 2);
    ck_assert_int_eq(options.retry_schedule.wait_ms[1], 120000);
    ck_assert(options.is_durability_set && options.durability.is_synced);
    ck_assert_int_eq(options.log_format, LOG_FORMAT_JSON);
    ck_assert_int_eq(options.log_level, LOG_LEVEL_DEBUG);
    ck_assert(address_parse(SLICE("10.1.2.3"), &ten));
    ck_assert(target_policy_permits(options.targets, SLICE("10.1.2.3"), &ten, 80, false));
    options_fini(&options);
    load_well("--retry-schedule=|--durability=memory|--breaker|off",
              "DUEPOST_BREAKER_WAIT=1m|DUEPOST_CLOCK=manual");
    ck_assert(options.is_clock_manual);
    ck_assert(!options.is_breaker_on);
    ck_assert_int_eq(options.breaker_wait_ms, 60000);
    ck_assert_int_eq(options.retry_schedule.count, 0);
    ck_assert(options.is_durability_set && !options.durability.is_synced);
    options_fini(&options);
}
END_TEST

START_TEST(the_data_directory_is_where_state_belongs)
{
    write_file("");
    load_well("", "STATE_DIRECTORY=/var/lib/duepost:/var/lib/other|XDG_STATE_HOME=/x");
    ck_assert_str_eq(options.data_dir, "/var/lib/duepost");
    options_fini(&options);
    load_well("", "XDG_STATE_HOME=/x");
    ck_assert_str_eq(options.data_dir, "/x/duepost");
    options_fini(&options);
    load_well("", "XDG_STATE_HOME=relative");
    ck_assert_str_eq(options.data_dir, "/home/u/.local/state/duepost");
    options_fini(&options);
    load_well("--data|/d", "STATE_DIRECTORY=/var/lib/duepost");
    ck_assert_str_eq(options.data_dir, "/d");
    options_fini(&options);

    char name[] = "duepost", *words[] = {name, NULL}, *none[] = {NULL};
    struct options_input input = {.argc = 1, .argv = words, .environment = none};
    ck_assert_int_eq(options_load(&options, &input, &problem), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(problem.text, "--data: set a directory; none of STATE_DIRECTORY"));
}
END_TEST

START_TEST(the_egress_proxy_is_checked_and_its_password_not_shown)
{
    static const char *const bad[] = {
        "https://h:1", "http://h", "http://[::1]",   "http://h:1/x",   "http://h:1?",
        "http://:1",   "h:1",      "http://a/b@h:1", "http://a b@h:1", "http://u:sesame@h:x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[128];
        snprintf(line, sizeof line, "egress-proxy = %s\n", bad[i]);
        write_file(line);
        ck_assert_int_eq(load("", ""), STATUS_INVALID);
        ck_assert_ptr_nonnull(strstr(problem.text, "must be http://[user:password@]host:port"));
        ck_assert_ptr_null(strstr(problem.text, "sesame"));
    }
    write_file("egress-proxy = http://u:sesame@[::1]:3128/\n");
    load_well("--print-config", "");
    ck_assert_str_eq(options.egress_proxy, "http://u:sesame@[::1]:3128/");
    char *text = answer();
    ck_assert_ptr_nonnull(strstr(text, "egress-proxy = http://u:***@[::1]:3128/\n"));
    ck_assert_ptr_null(strstr(text, "sesame"));
    free(text);
    options_fini(&options);
    write_file("");
    load_well("--egress-proxy|http://u@h:1", "");
    options_fini(&options);
    ck_assert_int_eq(load("--egress-proxy|http://u:sesame@h:1", ""), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(problem.text, "a password in a flag"));
}
END_TEST

START_TEST(the_password_of_redis_comes_from_where_it_is_not_seen)
{
    write_file("redis = redis://u:sesame@h:1/2\n");
    load_well("--print-config", "");
    ck_assert(!options.is_embedded);
    ck_assert_str_eq(options.redis_address.host, "h");
    check_password(options.redis_address.password, "sesame");
    char *text = answer();
    ck_assert_ptr_nonnull(strstr(text, "redis = redis://u:***@h:1/2\n"));
    ck_assert_ptr_null(strstr(text, "sesame"));
    free(text);
    options_fini(&options);

    load_well("", "DUEPOST_REDIS=redis://:other@h2");
    ck_assert_str_eq(options.redis_address.host, "h2");
    check_password(options.redis_address.password, "other");
    options_fini(&options);

    write_file(
        "from file\r\n"); /* the file is the password file in this test, and not a configuration file */
    char flags[200];
    snprintf(flags, sizeof flags, "--redis=redis://u@h|--redis-password-file|%s|--config=/dev/null",
             file_path);
    load_well(flags, "");
    ck_assert_str_eq(options.redis_address.user, "u");
    check_password(options.redis_address.password, "from file");
    options_fini(&options);

    snprintf(flags, sizeof flags,
             "--redis=sentinel://u@h/main|--sentinel-user=s|--sentinel-password-file|%s|--config=/dev/null",
             file_path);
    load_well(flags, "");
    ck_assert_str_eq(options.redis_address.sentinel_user, "s");
    check_password(options.redis_address.sentinel_password, "from file");
    ck_assert_ptr_null(options.redis_address.password);
    options_fini(&options);
}
END_TEST

START_TEST(an_unknown_variable_is_a_warning)
{
    write_file("");
    load_well("", "DUEPOST_NOPE=1|DUEPOST_SERVER=http://"
                  "h|DUEPOST_TOKEN=t|DUEPOST_HELP=1|OTHER=1|DUEPOST_LOG_LEVEL=error|DUEPOST_LISTN=h:1|"
                  "DUEPOST_MAXJOBS=1");
    ck_assert_int_eq(options.warning_count, 4);
    ck_assert_str_eq(options.warnings[0], "DUEPOST_NOPE has no effect: unknown option");
    ck_assert_str_eq(options.warnings[1], "DUEPOST_HELP has no effect: unknown option");
    ck_assert_str_eq(options.warnings[2],
                     "DUEPOST_LISTN has no effect: unknown option; did you mean DUEPOST_LISTEN?");
    ck_assert_str_eq(options.warnings[3],
                     "DUEPOST_MAXJOBS has no effect: unknown option; did you mean DUEPOST_MAX_JOBS?");
    options_fini(&options);
}
END_TEST

START_TEST(help_and_version_need_no_working_configuration)
{
    write_file("junk\n");
    load_well("--version", "DUEPOST_MAX_BODY=junk");
    char *text = answer();
    ck_assert_msg(strncmp(text, "duepost " DUEPOST_VERSION "\ncommit ",
                          strlen("duepost " DUEPOST_VERSION "\ncommit ")) == 0,
                  "%s", text);
    free(text);
    options_fini(&options);
    load_well("--help", "");
    text = answer();
    ck_assert_ptr_nonnull(strstr(text, "\n  --listen HOST:PORT "));
    ck_assert_ptr_nonnull(strstr(text, "\n  --help "));
    ck_assert_ptr_null(strstr(text, "print-reference"));
    free(text);
    options_fini(&options);
    ck_assert_int_eq(load("--print-config", ""), STATUS_INVALID);
}
END_TEST

START_TEST(print_config_tells_values_and_where_they_come_from)
{
    char from_file[200];
    write_file("\nmax-jobs = 7\n");
    load_well("--print-config|--prefix=x:", "DUEPOST_LISTEN=localhost:1");
    char *text = answer();
    snprintf(from_file, sizeof from_file, "# from %s:2\nmax-jobs = 7\n", file_path);
    ck_assert_ptr_nonnull(strstr(text, from_file));
    ck_assert_ptr_nonnull(strstr(text, "# from --prefix\nprefix = x:\n"));
    ck_assert_ptr_nonnull(strstr(text, "# from DUEPOST_LISTEN\nlisten = localhost:1\n"));
    ck_assert_ptr_nonnull(strstr(text, "# default\nmax-body = 1MiB\n"));
    ck_assert_ptr_nonnull(strstr(text, "# not set\n#redis =\n"));
    options_fini(&options);
    write_file(text); /* the output is a valid configuration file */
    load_well("", "");
    ck_assert_str_eq(options.prefix, "x:");
    options_fini(&options);
    free(text);
}
END_TEST

/* Reads config/duepost.conf of the source tree. The caller frees the text. */
static char *read_reference(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/../config/duepost.conf", TESTS_FOLDER);
    char *text = calloc(1, 65536);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot read %s", path);
    ck_assert_int_gt(fread(text, 1, 65535, file), 0);
    fclose(file);
    return text;
}

/* If this test fails, run: duepost --print-reference >config/duepost.conf */
START_TEST(the_reference_configuration_is_what_the_table_says)
{
    write_file("");
    load_well("--print-reference", "");
    char *text = answer(), *reference = read_reference();
    ck_assert_msg(strcmp(text, reference) == 0,
                  "config/duepost.conf is not what duepost --print-reference writes");
    options_fini(&options);
    free(reference);
    free(text);
}
END_TEST

/* Loads the lines of the reference that set an option to a value, without their "#". */
START_TEST(the_defaults_of_the_reference_can_be_given)
{
    char *reference = read_reference(), *save = NULL;
    FILE *file = fopen(file_path, "w");
    for (char *line = strtok_r(reference, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (line[0] == '#' && line[1] >= 'a' && line[1] <= 'z' && line[strlen(line) - 1] != '=')
            fprintf(file, "%s\n", line + 1);
    fclose(file);
    free(reference);
    load_well("", "");
    ck_assert_int_eq(options.settings[OPTION_LISTEN].source, OPTION_SOURCE_FILE);
    ck_assert_int_eq(options.settings[OPTION_DRAIN_TIMEOUT].source, OPTION_SOURCE_FILE);
    ck_assert_int_eq(options.max_body_bytes, 1 << 20);
    options_fini(&options);
}
END_TEST

START_TEST(a_comparison_tells_what_may_change_from_the_rest)
{
    struct options fresh;
    struct buffer changed, fixed;
    write_file("");
    load_well("--log-level=debug|--prefix=x:|--log=/l|--allow-target=::1", "");
    fresh = options;
    load_well("", "");
    buffer_init(&changed, 1024);
    buffer_init(&fixed, 1024);
    options_compare(&options, &fresh, &changed, &fixed);
    ck_assert_str_eq(buffer_text(&changed), "allow-target log-level");
    ck_assert_str_eq(buffer_text(&fixed), "prefix log");
    buffer_fini(&changed);
    buffer_fini(&fixed);
    options_fini(&options);
    options_fini(&fresh);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("all");
    tcase_add_unchecked_fixture(tests, make_file, remove_file);
    tcase_add_test(tests, defaults_are_safe);
    tcase_add_test(tests, a_flag_wins_over_the_environment_and_that_over_the_file);
    tcase_add_loop_test(tests, a_wrong_option_is_told_with_its_place, 0,
                        (int)(sizeof refused / sizeof *refused));
    tcase_add_test(tests, lines_are_bounded_and_nothing_is_cut);
    tcase_add_test(tests, the_file_takes_values_as_they_stand);
    tcase_add_test(tests, a_missing_default_file_is_fine);
    tcase_add_test(tests, values_become_what_they_mean);
    tcase_add_test(tests, the_data_directory_is_where_state_belongs);
    tcase_add_test(tests, the_egress_proxy_is_checked_and_its_password_not_shown);
    tcase_add_test(tests, the_password_of_redis_comes_from_where_it_is_not_seen);
    tcase_add_test(tests, an_unknown_variable_is_a_warning);
    tcase_add_test(tests, help_and_version_need_no_working_configuration);
    tcase_add_test(tests, print_config_tells_values_and_where_they_come_from);
    tcase_add_test(tests, the_reference_configuration_is_what_the_table_says);
    tcase_add_test(tests, the_defaults_of_the_reference_can_be_given);
    tcase_add_test(tests, a_comparison_tells_what_may_change_from_the_rest);
    suite_add_tcase(suite, tests);
    return suite;
}

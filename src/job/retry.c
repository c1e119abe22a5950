#include "job/retry.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/json_writer.h"

/* ---- schedules ---- */

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)

const struct retry_schedule retry_schedule_default = {
    .count = 9,
    .wait_ms = {15 * SECOND, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR,
                15 * HOUR},
};

static bool is_separator(char byte)
{
    return byte == ' ' || byte == ',';
}

/* Takes the next word from the front of *rest. Returns an empty word at the end of the text. */
static struct slice take_word(struct slice *rest)
{
    size_t start = 0;
    while (start < rest->size && is_separator(rest->data[start]))
        start++;
    size_t end = start;
    while (end < rest->size && !is_separator(rest->data[end]))
        end++;
    struct slice word = slice_skip(slice_from(rest->data, end), start);
    *rest = slice_skip(*rest, end);
    return word;
}

enum status retry_schedule_parse(struct slice text, struct retry_schedule *schedule, struct problem *problem)
{
    schedule->count = 0;
    for (struct slice word = take_word(&text); word.size; word = take_word(&text)) {
        int64_t wait_ms;
        if (schedule->count == RETRY_SCHEDULE_MAX) {
            problem_set(problem, "a retry schedule has at most %d waits", RETRY_SCHEDULE_MAX);
            return STATUS_INVALID;
        }
        if (!duration_parse(word, JOB_WAIT_MAX_MS, &wait_ms)) {
            problem_set(problem, "'%.*s' is not a wait of at most 365d, such as 15s, 3m or 1h",
                        SLICE_ARG(word));
            return STATUS_INVALID;
        }
        schedule->wait_ms[schedule->count++] = wait_ms;
    }
    return STATUS_OK;
}

int64_t retry_schedule_wait_ms(const struct retry_schedule *schedule, int n)
{
    assert(schedule->count > 0 && n >= 1);
    size_t step = (size_t)n <= schedule->count ? (size_t)n : schedule->count;
    return schedule->wait_ms[step - 1];
}

void retry_schedule_write(const struct retry_schedule *schedule, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_array(&json);
    for (size_t i = 0; i < schedule->count; i++)
        json_put_seconds(&json, schedule->wait_ms[i]);
    json_end_array(&json);
}

enum { NUMBER_MAX = 32 }; /* bytes */

/* The state of an evaluation. The text is read once, from left to right. */
struct evaluation {
    struct slice text;
    size_t at;
    double retried;
    int depth; /* how deep parentheses and signs are nested at this position */
    const char
        *expected; /* what the text must have at this position and does not have; NULL: no fault so far */
};

static double read_sum(struct evaluation *);
static double read_factor(struct evaluation *);

/* ---- characters ---- */

static char expression_peek(struct evaluation *evaluation)
{
    const struct slice *text = &evaluation->text;
    if (evaluation->expected)
        return '\0'; /* after a fault, the rest of the text is not read */
    while (evaluation->at < text->size && strchr(" \t\r\n", text->data[evaluation->at]) &&
           text->data[evaluation->at])
        evaluation->at++;
    return evaluation->at < text->size ? text->data[evaluation->at] : '\0';
}

static bool expression_take(struct evaluation *evaluation, char wanted)
{
    bool is_there = expression_peek(evaluation) == wanted && evaluation->at < evaluation->text.size;
    evaluation->at += is_there;
    return is_there;
}

/* Keeps the first fault. After a fault, all values are ignored. */
static double expect(struct evaluation *evaluation, const char *expected)
{
    if (!evaluation->expected)
        evaluation->expected = expected;
    return 0;
}

/* ---- numbers ---- */

static size_t skip_digits(struct slice text, size_t at)
{
    while (at < text.size && isdigit((unsigned char)text.data[at]))
        at++;
    return at;
}

static double read_number(struct evaluation *evaluation)
{
    char number[NUMBER_MAX + 1];
    size_t start = evaluation->at, end = skip_digits(evaluation->text, start), digits = end - start;
    if (end < evaluation->text.size && evaluation->text.data[end] == '.') {
        size_t fraction = end + 1;
        end = skip_digits(evaluation->text, fraction);
        digits += end - fraction;
    }
    if (digits == 0)
        return expect(evaluation, "a number");
    struct slice text = evaluation->text;
    if (end < text.size && (text.data[end] == 'e' || text.data[end] == 'E')) {
        size_t exponent = end + 1;
        exponent += exponent < text.size && (text.data[exponent] == '+' || text.data[exponent] == '-');
        size_t exponent_end = skip_digits(text, exponent);
        if (exponent_end > exponent)
            end = exponent_end;
    }
    if (end - start > NUMBER_MAX)
        return expect(evaluation, "a number of at most 32 characters");
    snprintf(number, sizeof number, "%.*s", (int)(end - start), evaluation->text.data + start);
    evaluation->at = end;
    return strtod(number, NULL);
}

/* ---- functions ---- */

static double smaller(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmin(a, b);
}

static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b);
}

/* Rounds to an integer. Halves are rounded up, as in JavaScript. */
static double rounded(double x)
{
    return floor(x + 0.5);
}

/* The functions of expressions. Some have one argument and some have two. A function with is_fold has one or
 * more: it is applied to the first two, then to the result and the third, and so on. */
static const struct function {
    struct slice name;
    double (*of_one)(double);
    double (*of_two)(double, double);
    bool is_fold;
} functions[] = {
    {SLICE_INIT("abs"), fabs, NULL, false},  {SLICE_INIT("ceil"), ceil, NULL, false},
    {SLICE_INIT("exp"), exp, NULL, false},   {SLICE_INIT("floor"), floor, NULL, false},
    {SLICE_INIT("max"), NULL, larger, true}, {SLICE_INIT("min"), NULL, smaller, true},
    {SLICE_INIT("pow"), NULL, pow, false},   {SLICE_INIT("round"), rounded, NULL, false},
    {SLICE_INIT("sqrt"), sqrt, NULL, false},
};

static double expression_call(struct evaluation *evaluation, const struct function *function)
{
    if (!expression_take(evaluation, '('))
        return expect(evaluation, "(");
    double value = read_sum(evaluation);
    if (function->of_one)
        value = function->of_one(value);
    else if (!function->is_fold && expression_peek(evaluation) != ',')
        return expect(evaluation, "a comma and a second value");
    for (bool has_more = !function->of_one; has_more && expression_take(evaluation, ',');
         has_more = function->is_fold)
        value = function->of_two(value, read_sum(evaluation));
    return expression_take(evaluation, ')') ? value : expect(evaluation, ")");
}

/* ---- the grammar ---- */

static double read_word(struct evaluation *evaluation)
{
    size_t start = evaluation->at, end = start;
    while (end < evaluation->text.size && isalnum((unsigned char)evaluation->text.data[end]))
        end++;
    struct slice word = slice_from(evaluation->text.data + start, end - start);
    const struct function *function = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !function; i++)
        if (slice_equal(functions[i].name, word))
            function = &functions[i];
    if (function || slice_equal(word, SLICE("retried")))
        evaluation->at = end;
    else
        return expect(evaluation,
                      "retried, or a function: abs, ceil, exp, floor, max, min, pow, round, sqrt");
    return function ? expression_call(evaluation, function) : evaluation->retried;
}

static double read_inner(struct evaluation *evaluation)
{
    char next = expression_peek(evaluation);
    if (expression_take(evaluation, '-'))
        return -read_factor(evaluation);
    if (expression_take(evaluation, '+'))
        return read_factor(evaluation);
    if (expression_take(evaluation, '(')) {
        double value = read_sum(evaluation);
        return expression_take(evaluation, ')') ? value : expect(evaluation, ")");
    }
    return isalpha((unsigned char)next) ? read_word(evaluation) : read_number(evaluation);
}

static double read_factor(struct evaluation *evaluation)
{
    if (evaluation->expected)
        return 0;
    if (evaluation->depth == RETRY_EXPRESSION_DEPTH_MAX)
        return expect(evaluation, "at most 16 nested parentheses and signs");
    evaluation->depth++;
    double value = read_inner(evaluation);
    evaluation->depth--;
    return value;
}

static double read_product(struct evaluation *evaluation)
{
    double value = read_factor(evaluation);
    while (!evaluation->expected) {
        if (expression_take(evaluation, '*'))
            value *= read_factor(evaluation);
        else if (expression_take(evaluation, '/'))
            value /= read_factor(evaluation);
        else
            break;
    }
    return value;
}

static double read_sum(struct evaluation *evaluation)
{
    double value = read_product(evaluation);
    while (!evaluation->expected) {
        if (expression_take(evaluation, '+'))
            value += read_product(evaluation);
        else if (expression_take(evaluation, '-'))
            value -= read_product(evaluation);
        else
            break;
    }
    return value;
}

/* ---- results ---- */

static double evaluate(struct evaluation *evaluation)
{
    if (evaluation->text.size > RETRY_EXPRESSION_MAX)
        return expect(evaluation, "at most 256 bytes");
    double value = read_sum(evaluation);
    expression_peek(evaluation);
    if (evaluation->at < evaluation->text.size)
        expect(evaluation, "an operator, or the end of the text");
    return value;
}

enum status retry_expression_check(struct slice text, int retries, struct problem *problem)
{
    for (int retried = 0; retried == 0 || retried < retries; retried++) {
        struct evaluation evaluation = {.text = text, .retried = retried};
        double value = evaluate(&evaluation);
        if (evaluation.expected) {
            problem_set(problem, "expected at byte %zu: %s", evaluation.at, evaluation.expected);
            return STATUS_INVALID;
        }
        if (retried < retries && !isfinite(value)) {
            problem_set(problem,
                        "is %s before attempt %d, where retried is %d; expected a finite number before each "
                        "attempt up to the last, which retry sets",
                        isnan(value) ? "not a number" : "infinite", retried + 2, retried);
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

bool retry_expression_wait_ms(struct slice text, int retried, int64_t *wait_ms)
{
    struct evaluation evaluation = {.text = text, .retried = retried};
    double value = evaluate(&evaluation);
    if (evaluation.expected || isnan(value))
        return false;
    *wait_ms = (int64_t)fmin(fmax(rounded(value), 0), (double)JOB_WAIT_MAX_MS);
    return true;
}

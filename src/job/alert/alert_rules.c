#include "job/alert/alert_rules.h"

#include <stdio.h>

#include "job/job.h"
#include "job/target/url.h"
#include "job/text/json.h"
#include "job/text/member.h"
#include "job/text/members.h"

#define MINUTE_MS INT64_C(60000)
#define DAY_MS    (INT64_C(86400) * 1000)

enum { ATTEMPTS = 20, ATTEMPTS_MAX = 1000000, PPM = 1000000 };

/* ---- the table ---- */

static const struct {
    const char *word;
    bool has_after, has_before, has_share; /* the members that the kind uses */
} kinds[ALERT_KINDS] = {
    [ALERT_DIED] = {"died", false, false, false},
    [ALERT_FAILING] = {"failing", false, false, true},
    [ALERT_OVERDUE] = {"overdue", true, false, false},
    [ALERT_QUOTA_REACHED] = {"quotaReached", false, false, false},
    [ALERT_MISSED] = {"missed", false, false, false},
    [ALERT_BREAKER_OPENED] = {"breakerOpened", false, false, false},
    [ALERT_HISTORY_BEHIND] = {"historyBehind", true, false, false},
    [ALERT_DURABILITY_LOST] = {"durabilityLost", false, false, false},
    [ALERT_CERTIFICATE_ENDS] = {"certificateEnds", false, true, false},
};

const char *alert_kind_word(enum alert_kind kind)
{
    return kinds[kind].word;
}

bool alert_kind_parse(struct slice word, enum alert_kind *kind)
{
    for (*kind = 0; *kind < ALERT_KINDS; ++*kind)
        if (slice_equal(word, slice_of(kinds[*kind].word)))
            return true;
    return false;
}

static void check_on(struct member_parse *parse, const struct member *member)
{
    struct alert_rule *rule = parse->of;
    if (!alert_kind_parse(rule->on, &rule->kind))
        job_errors_add(parse->errors, member->path,
                       "must be died, failing, overdue, quotaReached, missed, breakerOpened, historyBehind, "
                       "durabilityLost or certificateEnds");
}

static void check_form(struct member_parse *parse, const struct member *member)
{
    struct alert_rule *rule = parse->of;
    rule->is_slack = slice_equal(rule->form, SLICE("slack"));
    if (!rule->is_slack && !slice_equal(rule->form, SLICE("json")))
        job_errors_add(parse->errors, member->path, "must be \"json\" or \"slack\"");
}

#define NAMED(text)   MEMBER_NAMED("alerts.", text)
#define FIELD(member) MEMBER_FIELD(struct alert_rule, member)
#define HAS(member)   MEMBER_HAS(struct alert_rule, member)
#define SHOWN         .flags = MEMBER_SENT | MEMBER_SHOWN

static const struct member rows[] = {
    {NAMED("on"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_SHOWN | MEMBER_REQUIRED, FIELD(on), HAS(on.size),
     .min = 1, .max = sizeof "certificateEnds" - 1, .check = check_on},
    {NAMED("url"), MEMBER_URL, .flags = MEMBER_SENT | MEMBER_SHOWN | MEMBER_REQUIRED, FIELD(url),
     HAS(url.size), .max = JOB_URL_MAX},
    {NAMED("form"), MEMBER_TEXT, SHOWN, FIELD(form), HAS(form.size), .min = 1, .max = sizeof "slack" - 1,
     .check = check_form},
    {NAMED("after"), MEMBER_SECONDS, SHOWN, FIELD(after_ms), HAS(has_after), .min = 1000, .max = 30 * DAY_MS},
    {NAMED("before"), MEMBER_SECONDS, SHOWN, FIELD(before_ms), HAS(has_before), .min = MINUTE_MS,
     .max = 365 * DAY_MS},
    {NAMED("share"), MEMBER_SHARE, SHOWN, FIELD(share_ppm), HAS(has_share), .max = PPM},
    {NAMED("attempts"), MEMBER_INTEGER, SHOWN, FIELD(attempts), HAS(has_attempts), .min = 1,
     .max = ATTEMPTS_MAX},
};

static const struct members table = {MEMBER_ROWS(rows), .noun = "member", .prefix = "alerts."};

/* ---- reading ---- */

static void refuse_member(struct job_errors *errors, const struct alert_rule *rule, bool is_there,
                          bool is_of_kind, const char *name)
{
    char detail[64];
    if (!is_there || is_of_kind)
        return;
    snprintf(detail, sizeof detail, "has no meaning for \"%s\"", kinds[rule->kind].word);
    job_errors_add(errors, name, detail);
}

static void complete_rule(struct job_errors *errors, struct alert_rule *rule)
{
    refuse_member(errors, rule, rule->has_after, kinds[rule->kind].has_after, "alerts.after");
    refuse_member(errors, rule, rule->has_before, kinds[rule->kind].has_before, "alerts.before");
    refuse_member(errors, rule, rule->has_share, kinds[rule->kind].has_share, "alerts.share");
    refuse_member(errors, rule, rule->has_attempts, kinds[rule->kind].has_share, "alerts.attempts");
    if (!rule->has_after && kinds[rule->kind].has_after)
        rule->after_ms = 5 * MINUTE_MS;
    if (!rule->has_before && kinds[rule->kind].has_before)
        rule->before_ms = 14 * DAY_MS;
    if (!rule->has_share && kinds[rule->kind].has_share)
        rule->share_ppm = PPM / 2;
    if (!rule->has_attempts && kinds[rule->kind].has_share)
        rule->attempts = ATTEMPTS;
}

/* Reads a rule. text is the buffer for its decoded strings. */
static bool read_rule(struct job_errors *errors, struct slice value, struct buffer *text,
                      struct alert_rule *rule)
{
    struct member_parse parse = {.table = &table, .of = rule, .text = text, .errors = errors};
    size_t errors_before = errors->count;
    *rule = (struct alert_rule){.text = value};
    if (value.size == 0 || value.data[0] != '{') {
        job_errors_add(errors, "alerts", "must be an array of objects with on and url");
        return false;
    }
    members_parse(&parse, value);
    if (errors->count == errors_before)
        complete_rule(errors, rule);
    return errors->count == errors_before;
}

/* Reads all rules. is_stored: skips rules that cannot be read, because a later version wrote them. */
static bool read_rules(struct job_errors *errors, struct slice value, struct alert_rules *rules,
                       bool is_stored)
{
    struct json_cursor cursor;
    struct slice item;
    size_t errors_before = errors->count;
    rules->count = 0;
    buffer_init(&rules->text, ALERT_RULES_BYTES_MAX);
    bool is_array = json_open(value, &cursor) && cursor.close == ']';
    if (value.size > ALERT_RULES_BYTES_MAX) {
        job_errors_add(errors, "alerts", "must have at most 32768 bytes");
        is_array = false;
    } else if (!is_array) {
        job_errors_add(errors, "alerts", "must be an array of objects with on and url");
    } else {
        buffer_reserve(&rules->text, value.size); /* the decoded strings must not move */
    }
    while (is_array && json_next_item(&cursor, &item)) {
        if (rules->count == ALERT_RULES_MAX) {
            job_errors_add(errors, "alerts", "must have at most 16 items");
            break;
        }
        rules->count += read_rule(errors, item, &rules->text, &rules->items[rules->count]);
    }
    if (errors->count == errors_before || (is_stored && is_array))
        return true;
    alert_rules_fini(rules);
    return false;
}

bool alert_rules_parse(struct job_errors *errors, struct slice value, struct alert_rules *rules)
{
    return read_rules(errors, value, rules, false);
}

bool alert_rules_read(struct slice value, struct alert_rules *rules)
{
    struct job_errors ignored;
    job_errors_clear(&ignored);
    return read_rules(&ignored, value, rules, true);
}

void alert_rules_fini(struct alert_rules *rules)
{
    buffer_fini(&rules->text);
}

/* ---- showing ---- */

void alert_rules_show(struct slice value, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    struct alert_rules rules;
    if (!alert_rules_read(value, &rules)) {
        json_put_raw(&json, SLICE("null"));
        return;
    }
    json_put_array(&json);
    for (size_t i = 0; i < rules.count; i++) {
        json_put_object(&json);
        members_write(&table, &rules.items[i], MEMBERS_FOR_PEOPLE, &json);
        json_end_object(&json);
    }
    json_end_array(&json);
    alert_rules_fini(&rules);
}

#include "worker/alerts.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/topic/topic_settings.h"
#include "store/alert.h"
#include "store/clock.h"

/* An episode of this shard, as Redis had it at the beginning of the round. */
struct known {
    char *name, *state; /* owned */
    enum alert_kind kind;
    struct slice subject; /* a part of name */
    bool has_rule;
};

/* A change that is sent to Redis. */
struct decided {
    char name[ALERT_NAME_SIZE], state[ALERT_STATE_SIZE], id[ALERT_ID_SIZE];
    struct buffer record;
    enum alert_change change;
};

struct alerts {
    struct alerts_options options;
    bool is_running; /* a round is under way */
    bool is_used;
    bool is_settled; /* no topic has alerts, and no alert has begun */
    int64_t began_us;
    size_t offset; /* if very many alerts have begun, each round looks at others */
    size_t known_count;
    struct known known[STORE_EPISODES_MAX];
    size_t decided_count;
    struct decided decided[STORE_ALERT_CHANGES_MAX];
    struct store_alert_change changes[STORE_ALERT_CHANGES_MAX];
    struct store_alert_subjects subjects; /* before_ms is from the round before */
};

/* ---- the end of a round ---- */

static void forget_known(struct alerts *alerts)
{
    for (size_t i = 0; i < alerts->known_count; i++) {
        free(alerts->known[i].name);
        free(alerts->known[i].state);
    }
    alerts->known_count = 0;
}

static void forget_decided(struct alerts *alerts)
{
    for (size_t i = 0; i < alerts->decided_count; i++)
        buffer_fini(&alerts->decided[i].record);
    alerts->decided_count = 0;
}

static void end_round(struct alerts *alerts)
{
    forget_decided(alerts);
    forget_known(alerts);
    alerts->is_running = false;
}

static void on_changed(void *arg, enum status status, const bool *done, size_t count)
{
    struct alerts *alerts = arg;
    for (size_t i = 0; status == STATUS_OK && i < count && i < alerts->decided_count; i++) {
        const struct decided *decided = &alerts->decided[i];
        if (done[i] && decided->change == ALERT_FIRED)
            log_warning("alert_fired", LOG_TEXT("alert", decided->name), LOG_TEXT("job", decided->id));
        if (done[i] && decided->change == ALERT_RESOLVED && decided->id[0])
            log_info("alert_resolved", LOG_TEXT("alert", decided->name), LOG_TEXT("job", decided->id));
    }
    end_round(alerts);
}

/* ---- deciding ---- */

static struct known *find_known(struct alerts *alerts, const char *name)
{
    for (size_t i = 0; i < alerts->known_count; i++)
        if (slice_equal(slice_of(name), slice_of(alerts->known[i].name)))
            return &alerts->known[i];
    return NULL;
}

/* Adds a change without a job and without a new state. Returns NULL if this round has no room for it. */
static struct decided *add_change(struct alerts *alerts, const char *name, const struct known *known)
{
    if (alerts->decided_count == STORE_ALERT_CHANGES_MAX)
        return NULL;
    struct decided *decided = &alerts->decided[alerts->decided_count];
    struct store_alert_change *change = &alerts->changes[alerts->decided_count++];
    decided->change = ALERT_RESOLVED;
    decided->state[0] = decided->id[0] = '\0';
    snprintf(decided->name, sizeof decided->name, "%s", name);
    buffer_init(&decided->record, JOB_RECORD_MAX);
    *change = (struct store_alert_change){.name = slice_of(decided->name),
                                          .old = slice_of(known ? known->state : "")};
    return decided;
}

static void alerts_decide(struct alerts *alerts, const struct alert_rule *rule,
                          const struct alert_facts *facts)
{
    char name[ALERT_NAME_SIZE];
    struct alert_episode old, next;
    alert_name_write(rule, facts->subject, name);
    struct known *known = find_known(alerts, name);
    bool is_open = known && alert_episode_read(slice_of(known->state), &old);
    if (known)
        known->has_rule = is_open; /* a state that cannot be read is removed */
    if (known && !is_open)
        return;
    enum alert_change change = alert_decide(rule, facts, is_open ? &old : NULL, &next);
    /* Counts leave room for alerts that begin or end, even if very many topics have deaths. */
    if (change == ALERT_UNCHANGED ||
        (change == ALERT_COUNTED && alerts->decided_count >= STORE_ALERT_CHANGES_MAX / 2))
        return;
    size_t place = alerts->decided_count;
    struct decided *decided = add_change(alerts, name, known);
    if (!decided)
        return;
    decided->change = change;
    if (change != ALERT_COUNTED)
        alert_job_write(rule, facts, &next, change, decided->id, &decided->record);
    if (change != ALERT_RESOLVED)
        alert_episode_write(&next, decided->state);
    alerts->changes[place].new = slice_of(decided->state);
    alerts->changes[place].id = slice_of(decided->id);
    alerts->changes[place].record = buffer_slice(&decided->record);
}

/* Removes the alerts about the subject of the facts whose rules were removed or changed. Their ends are not
 * reported.
 */
static void drop_without_rule(struct alerts *alerts, const struct alert_facts *facts)
{
    for (size_t i = 0; i < alerts->known_count; i++) {
        const struct known *known = &alerts->known[i];
        if (alert_about(known->kind, known->subject) == facts->about && !known->has_rule &&
            slice_equal(known->subject, facts->subject))
            (void)add_change(alerts, known->name, known);
    }
}

/* Returns the longest time before the end of a certificate at which an alert begins; 0: there is no such
 * alert. */
static int64_t longest_before_ms(const struct alert_rules *rules)
{
    int64_t longest_ms = 0;
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].before_ms > longest_ms)
            longest_ms = rules->items[i].before_ms;
    return longest_ms;
}

static void examine(struct alerts *alerts, const struct store_fact *fact)
{
    struct topic_settings settings;
    struct alert_rules rules = {.count = 0};
    if (topic_settings_read(fact->settings, &settings) != STATUS_OK)
        return; /* no process serves the topic */
    bool is_known = settings.lacks.size == 0;
    bool has_rules = is_known && settings.alerts.size && alert_rules_read(settings.alerts, &rules);
    if (fact->facts.about == ALERT_OF_SHARD)
        alerts->subjects.before_ms = longest_before_ms(&rules);
    for (size_t i = 0; i < rules.count; i++)
        if (alert_rule_fits(&rules.items[i], &fact->facts))
            alerts_decide(alerts, &rules.items[i], &fact->facts);
    if (is_known)
        drop_without_rule(alerts, &fact->facts);
    if (has_rules)
        alert_rules_fini(&rules);
    topic_settings_fini(&settings);
}

/* Adds what this process knows about the server. */
static void complete_fact(const struct alerts *alerts, struct alert_facts *facts)
{
    const struct alerts_options *options = &alerts->options;
    const struct redis_info *info = store_redis_info_of(options->store, shard_number(options->shard));
    int64_t until_ms;
    facts->is_durability_unknown = options->durability && !info->is_known;
    facts->lacks_durability =
        options->durability && info->is_known && !durability_covers(info->in_force, *options->durability);
    facts->has_certificate = shard_number(options->shard) == 0 && options->certificate &&
                             options->certificate(options->arg, &until_ms);
    if (facts->has_certificate)
        facts->certificate_left_ms = until_ms - clock_wall_ms();
}

static void on_symptoms(void *arg, enum status status, int64_t now_us, const struct store_fact *facts,
                        size_t count)
{
    struct alerts *alerts = arg;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct store_fact fact = facts[i];
        if (fact.facts.about == ALERT_OF_SHARD)
            complete_fact(alerts, &fact.facts);
        examine(alerts, &fact);
    }
    if (alerts->decided_count)
        store_change_alerts(alerts->options.store, now_us, alerts->changes, alerts->decided_count, on_changed,
                            alerts);
    else
        end_round(alerts);
}

/* ---- the beginning of a round ---- */

static bool is_of_shard(const struct alerts *alerts, enum alert_kind kind, struct slice subject)
{
    uint64_t number;
    if (alert_about(kind, subject) == ALERT_OF_SHARD)
        return slice_to_number(subject, INT32_MAX, &number) && number == shard_number(alerts->options.shard);
    return store_shard_of(alerts->options.store, subject) == alerts->options.shard;
}

static void keep_episodes(struct alerts *alerts, const struct store_episode *episodes, size_t count)
{
    for (size_t i = 0; i < count && alerts->known_count < STORE_EPISODES_MAX; i++) {
        struct known *known = &alerts->known[alerts->known_count];
        struct slice subject;
        if (!alert_name_read(episodes[i].name, &known->kind, &subject) ||
            !is_of_shard(alerts, known->kind, subject))
            continue;
        known->name = slice_dup(episodes[i].name);
        known->state = slice_dup(episodes[i].state);
        known->subject = slice_from(known->name + (subject.data - episodes[i].name.data), subject.size);
        known->has_rule = false;
        alerts->known_count++;
    }
}

static void add_subject(struct store_alert_names *names, struct slice subject)
{
    if (names->count < STORE_ALERT_NAMES_MAX)
        names->items[names->count++] = subject;
}

static void on_episodes(void *arg, enum status status, const struct store_episode *episodes, size_t count)
{
    struct alerts *alerts = arg;
    struct store_alert_subjects *subjects = &alerts->subjects;
    if (status == STATUS_OK)
        keep_episodes(alerts, episodes, count);
    alerts->is_settled = status == STATUS_OK && !alerts->is_used && alerts->known_count == 0;
    if (status != STATUS_OK || alerts->is_settled) {
        end_round(alerts);
        return;
    }
    subjects->topics.count = subjects->schedules.count = subjects->receivers.count = 0;
    for (size_t i = 0; i < alerts->known_count; i++) {
        const struct known *known = &alerts->known[(alerts->offset + i) % alerts->known_count];
        enum alert_about about = alert_about(known->kind, known->subject);
        if (about != ALERT_OF_SHARD)
            add_subject(about == ALERT_OF_TOPIC      ? &subjects->topics
                        : about == ALERT_OF_SCHEDULE ? &subjects->schedules
                                                     : &subjects->receivers,
                        known->subject);
    }
    alerts->offset = alerts->known_count ? (alerts->offset + STORE_ALERT_NAMES_MAX) % alerts->known_count : 0;
    shard_symptoms(alerts->options.shard, subjects, on_symptoms, alerts);
}

void alerts_tick(struct alerts *alerts, bool is_used)
{
    int64_t now_us = clock_boot_us();
    bool is_early = alerts->began_us && now_us - alerts->began_us < ALERTS_PERIOD_MS * INT64_C(1000);
    if (alerts->is_running || (alerts->is_settled && !is_used) || (is_early && !clock_is_manual()))
        return;
    alerts->is_running = true;
    alerts->is_used = is_used;
    alerts->began_us = now_us;
    store_alerts(alerts->options.store, on_episodes, alerts);
}

void alerts_begin(struct alerts *alerts)
{
    alerts->is_settled = false;
    alerts->began_us = 0;
}

/* ---- life ---- */

struct alerts *alerts_new(const struct alerts_options *options)
{
    struct alerts *alerts = NEW(struct alerts);
    alerts->options = *options;
    return alerts;
}

void alerts_free(struct alerts *alerts)
{
    if (!alerts)
        return;
    end_round(alerts);
    free(alerts);
}

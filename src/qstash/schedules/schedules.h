/* schedules.h - schedules of the QStash API, which send a message at each time of a cron expression. duepost
 * stores each as one of its own schedules in the topic qstash~schedules, under the client's scheduleId. The
 * messages go to the topic that topics/message_topic.h finds for the queue or the flow-control key. */
#ifndef DUEPOST_QSTASH_SCHEDULES_H
#define DUEPOST_QSTASH_SCHEDULES_H

#include "job/schedule/recurring.h"
#include "qstash/messages/message.h"

#define SCHEDULES_TOPIC QSTASH_TOPIC "~schedules"

enum { SCHEDULE_KEY_SIZE = sizeof SCHEDULES_TOPIC + 1 + RECURRING_ID_MAX };

/* Writes topic/scheduleId into room, and returns it, or an empty slice if the text cannot be a scheduleId. */
struct slice schedule_key(struct slice schedule_id, char room[SCHEDULE_KEY_SIZE]);

/* Splits "CRON_TZ=Europe/Berlin 30 4 * * *" into the time zone, which may be empty, and the rest. */
void schedule_cut_cron(struct slice text, struct slice *timezone, struct slice *cron);

#endif

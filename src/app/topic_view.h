/* topic_view.h - completes a topic of the store; only the files of app/ include it. */
#ifndef DUEPOST_APP_TOPIC_VIEW_H
#define DUEPOST_APP_TOPIC_VIEW_H

#include "app/app.h"
#include "job/topic.h"

/* Returns the topic with the members that only use cases set. */
struct topic topic_view(const struct app *, const struct topic *);

#endif

/* message_settings.h - reads the settings with which a message was published, so that a new message can be
 * published with the same settings. */
#ifndef DUEPOST_QSTASH_MESSAGE_SETTINGS_H
#define DUEPOST_QSTASH_MESSAGE_SETTINGS_H

#include "qstash/message_view.h"

enum { MESSAGE_SETTINGS_TEXT = 2 * JOB_FORM_DATA_MAX }; /* bytes of decoded values */

/* Sets all settings except the time and the run. The settings borrow the view and text. text receives decoded
 * values, and must have room for MESSAGE_SETTINGS_TEXT. */
void message_settings_take(const struct message_view *, struct settings *, struct buffer *text);

#endif

/* redis_log.h - the log file of the private redis-server. */
#ifndef DUEPOST_SERVER_REDIS_LOG_H
#define DUEPOST_SERVER_REDIS_LOG_H

#include <sys/types.h>

#define REDIS_LOG_NAME "redis.log"

/* Copies the warning with which this redis-server ended: the last line of its log, and after it the line
 * before if this line is a warning, too. Leaves out pid, time and level. words is "" if the last line is not
 * a warning, as after SIGKILL. */
enum { REDIS_LOG_WORDS_MAX = 300 };
void redis_log_last_words(int dir_fd, pid_t, char words[REDIS_LOG_WORDS_MAX]);

#endif

/* group_sealed.h - the secret members of a group's endpoints, which are encrypted in Redis if the process has
 * keys (base/seal.h).
 *
 * {"endpoints":{"billing":{"url":"https://api.example/in"}},"needs":["sealed"],"of":"orders","sealed":"..."}
 *
 * The headers are sealed, and each url that has a query; the url without its query stays readable. "of" is
 * the name of the group, because not each reader knows it. The text is sealed for this name and for the
 * readable endpoints: headers whose url was changed do not open.
 *
 * The functions of group.h open the texts that they read. group_parse and group_patch do not seal. */
#ifndef DUEPOST_JOB_GROUP_SEALED_H
#define DUEPOST_JOB_GROUP_SEALED_H

#include "base/buffer.h"
#include "base/seal.h"

/* The table of an endpoint's members (group.c). */
extern const struct members group_endpoint_members;

/* Appends the text as Redis is to have it. A text without secrets is appended unchanged. */
void group_seal(struct slice name, struct slice text, struct buffer *out);

/* Appends the text as it was before it was sealed. NO_KEY: lacks has what the process lacks (sealed_lacks).
 * If out has no room, it is marked as failed. */
enum seal_answer group_open(struct slice text, struct buffer *out, struct buffer *lacks) MUST_USE;

#endif

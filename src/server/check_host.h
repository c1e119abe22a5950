/* check_host.h - the lines of duepost check about options and this host. */
#ifndef DUEPOST_SERVER_CHECK_HOST_H
#define DUEPOST_SERVER_CHECK_HOST_H

#include "server/check_report.h"
#include "server/options.h"

void check_tokens(struct check_report *, struct options *);
void check_targets(struct check_report *, const struct options *);
void check_ports(struct check_report *, const struct options *);
void check_proxy(struct check_report *, const char *url); /* url: where clients reach a running server */
void check_certificate(struct check_report *, const struct options *);
void check_files(struct check_report *, const struct options *);
void check_names(struct check_report *);
void check_time_zones(struct check_report *);
void check_history(struct check_report *, const struct options *);

#endif

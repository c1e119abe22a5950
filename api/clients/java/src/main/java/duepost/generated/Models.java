// Generated from api/openapi.yaml; see generate.yaml. Do not edit.
package duepost.generated;

import java.util.List;
import java.util.Map;

/** The documents of the contract. A member that is absent is null. */
public final class Models {
    private Models() {}


    public record Access(
            Boolean tokens,
            String name,
            List<String> scopes,
            List<String> topics,
            List<String> groups,
            Long jobsPerHour,
            String clock
    ) {}


    public record Alert(
            String on,
            String url,
            String form,
            Object after,
            Object before,
            Double share,
            Integer attempts
    ) {
        public static final class Builder {
            private String on;
            private String url;
            private String form;
            private Object after;
            private Object before;
            private Double share;
            private Integer attempts;
            public Builder on(String on) {
                this.on = on;
                return this;
            }

            public Builder url(String url) {
                this.url = url;
                return this;
            }

            public Builder form(String form) {
                this.form = form;
                return this;
            }

            public Builder after(Object after) {
                this.after = after;
                return this;
            }

            public Builder before(Object before) {
                this.before = before;
                return this;
            }

            public Builder share(Double share) {
                this.share = share;
                return this;
            }

            public Builder attempts(Integer attempts) {
                this.attempts = attempts;
                return this;
            }

            public Alert build() {
                return new Alert(on, url, form, after, before, share, attempts);
            }
        }
    }


    public record AlertTest(
            String on,
            String url,
            String topic,
            String jobId
    ) {}


    public record Attempt(
            Integer attempt,
            Integer round,
            String at,
            Integer durationMs,
            Integer status,
            String error,
            String errorDetail,
            String answer,
            Boolean answerTruncated
    ) {}


    public record AuditLine(
            String id,
            String at,
            String action,
            String token,
            String from,
            String kind,
            String target,
            String topic,
            String filter,
            String part,
            String outcome,
            Integer matched,
            Integer done,
            Integer skipped,
            Integer unknown,
            Integer removed,
            Integer lines,
            Integer imported,
            Integer same,
            Integer exists,
            Integer refused,
            Object before,
            Object after,
            Boolean beforeLeftOut,
            Boolean afterLeftOut
    ) {}


    public record Auth(
            String type,
            List<String> origins,
            String audience,
            String algorithm,
            String tokenUrl,
            String clientId,
            String clientSecret,
            String scope,
            String clientAuth,
            String certificate,
            String privateKey
    ) {
        public static final class Builder {
            private String type;
            private List<String> origins;
            private String audience;
            private String algorithm;
            private String tokenUrl;
            private String clientId;
            private String clientSecret;
            private String scope;
            private String clientAuth;
            private String certificate;
            private String privateKey;
            public Builder type(String type) {
                this.type = type;
                return this;
            }

            public Builder origins(List<String> origins) {
                this.origins = origins;
                return this;
            }

            public Builder audience(String audience) {
                this.audience = audience;
                return this;
            }

            public Builder algorithm(String algorithm) {
                this.algorithm = algorithm;
                return this;
            }

            public Builder tokenUrl(String tokenUrl) {
                this.tokenUrl = tokenUrl;
                return this;
            }

            public Builder clientId(String clientId) {
                this.clientId = clientId;
                return this;
            }

            public Builder clientSecret(String clientSecret) {
                this.clientSecret = clientSecret;
                return this;
            }

            public Builder scope(String scope) {
                this.scope = scope;
                return this;
            }

            public Builder clientAuth(String clientAuth) {
                this.clientAuth = clientAuth;
                return this;
            }

            public Builder certificate(String certificate) {
                this.certificate = certificate;
                return this;
            }

            public Builder privateKey(String privateKey) {
                this.privateKey = privateKey;
                return this;
            }

            public Auth build() {
                return new Auth(type, origins, audience, algorithm, tokenUrl, clientId, clientSecret, scope, clientAuth, certificate, privateKey);
            }
        }
    }


    public record Batch(
            Integer size,
            Double _wait,
            Integer maxBytes
    ) {
        public static final class Builder {
            private Integer size;
            private Double _wait;
            private Integer maxBytes;
            public Builder size(Integer size) {
                this.size = size;
                return this;
            }

            public Builder _wait(Double _wait) {
                this._wait = _wait;
                return this;
            }

            public Builder maxBytes(Integer maxBytes) {
                this.maxBytes = maxBytes;
                return this;
            }

            public Batch build() {
                return new Batch(size, _wait, maxBytes);
            }
        }
    }


    public record BatchResults(
            List<BatchResultsResultsInner> results
    ) {}


    public record BatchResultsResultsInner(
            String jobId,
            Boolean ok,
            Double retry,
            String bury
    ) {}


    public record CallbackDocument(
            String callback,
            String topic,
            String jobId,
            String outcome,
            String reason,
            Integer status,
            String error,
            String errorDetail,
            Integer attempts,
            Integer round,
            String createdAt,
            String dueAt,
            String endedAt,
            Integer lateMs,
            Integer durationMs,
            Integer waitMs,
            List<CallbackDocumentLastAttemptsInner> lastAttempts,
            Object result,
            String answer,
            String answerBase64,
            Boolean answerTruncated,
            List<String> labels,
            String key,
            Integer priority,
            Object body,
            String bodyBase64
    ) {}


    public record CallbackDocumentLastAttemptsInner(
            Integer number,
            String at,
            Integer durationMs,
            Integer status,
            String error,
            String errorDetail
    ) {}


    public record CallbackTarget(
            String url,
            String method,
            Map<String, String> headers,
            Boolean includeBody
    ) {
        public static final class Builder {
            private String url;
            private String method;
            private Map<String, String> headers;
            private Boolean includeBody;
            public Builder url(String url) {
                this.url = url;
                return this;
            }

            public Builder method(String method) {
                this.method = method;
                return this;
            }

            public Builder headers(Map<String, String> headers) {
                this.headers = headers;
                return this;
            }

            public Builder includeBody(Boolean includeBody) {
                this.includeBody = includeBody;
                return this;
            }

            public CallbackTarget build() {
                return new CallbackTarget(url, method, headers, includeBody);
            }
        }
    }


    public record CancelJob200Response(
            String state,
            Boolean attemptInFlight,
            Integer cancelled
    ) {}


    public record CancelWorkflow200Response(
            String topic,
            String workflowId,
            String state
    ) {}


    public record Clock(
            String clock,
            String now,
            String next,
            Long inFlight
    ) {}


    public record ClockChange(
            String at,
            Integer seconds,
            Integer times,
            String effect
    ) {}


    public record ClockTurn(
            Object advance,
            String to,
            Boolean untilIdle,
            Integer limit
    ) {
        public static final class Builder {
            private Object advance;
            private String to;
            private Boolean untilIdle;
            private Integer limit;
            public Builder advance(Object advance) {
                this.advance = advance;
                return this;
            }

            public Builder to(String to) {
                this.to = to;
                return this;
            }

            public Builder untilIdle(Boolean untilIdle) {
                this.untilIdle = untilIdle;
                return this;
            }

            public Builder limit(Integer limit) {
                this.limit = limit;
                return this;
            }

            public ClockTurn build() {
                return new ClockTurn(advance, to, untilIdle, limit);
            }
        }
    }


    public record ClockTurned(
            String now,
            String next,
            Long inFlight,
            String to,
            Boolean reached,
            List<Fired> fired,
            Boolean more,
            Long lost
    ) {}


    public record ConflictProblem(
            String type,
            String title,
            Integer status,
            String detail,
            String instance,
            String state,
            String dueAt
    ) {}


    public record CountJobs200Response(
            Integer count,
            Integer delivered,
            Integer cancelled,
            Integer dead,
            String source,
            Boolean partial,
            String cursor
    ) {}


    public record CronTimes(
            String text,
            String timezone,
            List<String> next
    ) {}


    public record Debounce(
            String key,
            Object _wait,
            Object maxWait
    ) {
        public static final class Builder {
            private String key;
            private Object _wait;
            private Object maxWait;
            public Builder key(String key) {
                this.key = key;
                return this;
            }

            public Builder _wait(Object _wait) {
                this._wait = _wait;
                return this;
            }

            public Builder maxWait(Object maxWait) {
                this.maxWait = maxWait;
                return this;
            }

            public Debounce build() {
                return new Debounce(key, _wait, maxWait);
            }
        }
    }


    public record DeleteHistory200Response(
            Integer deleted,
            Boolean hasMore
    ) {}


    public record DeleteSchedule200Response(
            String topic,
            String scheduleId
    ) {}


    public record DeliverBatchRequestInner(
            String jobId,
            String topic,
            String key,
            Integer attempt,
            List<String> labels,
            Object body,
            String bodyBase64
    ) {}


    public record Endpoint(
            String url,
            String method,
            Map<String, String> headers
    ) {
        public static final class Builder {
            private String url;
            private String method;
            private Map<String, String> headers;
            public Builder url(String url) {
                this.url = url;
                return this;
            }

            public Builder method(String method) {
                this.method = method;
                return this;
            }

            public Builder headers(Map<String, String> headers) {
                this.headers = headers;
                return this;
            }

            public Endpoint build() {
                return new Endpoint(url, method, headers);
            }
        }
    }


    public record ErrorsInner(
            String field,
            String detail
    ) {}


    public record Failing(
            Long failed,
            Long attempts,
            String lastAnswer
    ) {}


    public record Fired(
            String at,
            String topic,
            String jobId,
            String event,
            String schedule,
            Integer attempt,
            Integer status,
            String error,
            String outcome,
            String nextAt
    ) {}


    public record Forecast(
            String now,
            String from,
            String to,
            Integer step,
            Integer resolution,
            ForecastJobs jobs,
            ForecastAttempts attempts,
            ForecastBacklog backlog,
            ForecastSeries series,
            List<ForecastLine> narrow,
            List<ForecastLine> topics,
            List<ForecastSchedulesInner> schedules,
            Boolean partial
    ) {}


    public record ForecastAttempts(
            Integer measured,
            Integer durationMs,
            Integer maxInFlight
    ) {}


    public record ForecastBacklog(
            Integer peak,
            String peakAt,
            Integer lateMs,
            Integer left,
            String drainedAt
    ) {}


    public record ForecastJobs(
            Integer overdue,
            Integer waiting,
            Integer scheduled,
            Integer topics,
            Integer schedules
    ) {}


    public record ForecastLine(
            String topic,
            String limit,
            Integer due,
            String by,
            Integer peakBacklog,
            String peakAt,
            Integer lateMs,
            Integer left,
            String drainedAt,
            ForecastLineSeries series
    ) {}


    public record ForecastLineSeries(
            List<Integer> due,
            List<Integer> begun,
            List<Integer> backlog
    ) {}


    public record ForecastSchedulesInner(
            String topic,
            String scheduleId,
            Integer jobs
    ) {}


    public record ForecastSeries(
            List<Integer> due,
            List<Integer> begun,
            List<Integer> backlog,
            List<Integer> lateMs,
            List<Integer> paused
    ) {}


    public record GetIdentityKeys200Response(
            List<GetIdentityKeys200ResponseKeysInner> keys
    ) {}


    public record GetIdentityKeys200ResponseKeysInner(
            String kty,
            String alg,
            String use,
            String kid,
            String crv,
            String x,
            String y,
            String e,
            String n
    ) {}


    public record Group(
            Map<String, Endpoint> endpoints
    ) {
        public static final class Builder {
            private Map<String, Endpoint> endpoints;
            public Builder endpoints(Map<String, Endpoint> endpoints) {
                this.endpoints = endpoints;
                return this;
            }

            public Group build() {
                return new Group(endpoints);
            }
        }
    }


    public record GroupPatch(
            Map<String, GroupPatchEndpointsValue> endpoints
    ) {}


    public record GroupPatchEndpointsValue(
            String url,
            String method,
            Map<String, String> headers
    ) {
        public static final class Builder {
            private String url;
            private String method;
            private Map<String, String> headers;
            public Builder url(String url) {
                this.url = url;
                return this;
            }

            public Builder method(String method) {
                this.method = method;
                return this;
            }

            public Builder headers(Map<String, String> headers) {
                this.headers = headers;
                return this;
            }

            public GroupPatchEndpointsValue build() {
                return new GroupPatchEndpointsValue(url, method, headers);
            }
        }
    }


    public record GroupState(
            String group,
            Map<String, Endpoint> endpoints
    ) {}


    public record Health(
            Boolean healthy
    ) {}


    public record Imported(
            Long imported,
            Long same,
            Long exists,
            Long refused,
            List<ImportedNotImportedInner> notImported
    ) {}


    public record ImportedNotImportedInner(
            Long line,
            String kind,
            String name,
            String result,
            String detail
    ) {}


    public record InlineObject(
            String limit,
            LimitSettings settings
    ) {}


    public record InlineObject1(
            String topic,
            String key,
            KeySettings settings
    ) {}


    public record InlineObject2(
            Integer matched,
            Integer done,
            Integer skipped,
            Boolean partial,
            String source,
            String cursor
    ) {}


    public record InlineObject3(
            String topic,
            Settings settings
    ) {}


    public record InlineObject4(
            List<Schedule> schedules,
            String cursor
    ) {}


    public record Job(
            String jobId,
            String topic,
            String state,
            String dueAt,
            String leaseUntil,
            String createdAt,
            String expiresAt,
            String deadAt,
            String deliveredAt,
            String cancelledAt,
            String keptUntil,
            String reason,
            String url,
            Double delay,
            Integer retry,
            List<Double> retrySchedule,
            String retryWait,
            Double timeout,
            Map<String, String> headers,
            String method,
            Object onDelivered,
            Object onDead,
            Object onAttempt,
            Object body,
            Boolean bodyLeftOut,
            String bodyBase64,
            String key,
            Integer priority,
            List<String> labels,
            String form,
            String workflow,
            Object progress,
            Object result,
            Integer attempts,
            Integer rounds,
            JobLastAttempt lastAttempt
    ) {}


    public record JobLastAttempt(
            String at,
            Integer durationMs,
            Integer status,
            String error,
            String errorDetail
    ) {}


    public record JobList(
            List<Job> jobs,
            String source,
            Boolean partial,
            String cursor
    ) {}


    public record JobOfSchedule(
            String url,
            String group,
            String method,
            Object body,
            String bodyBase64,
            String key,
            Integer priority,
            List<String> labels,
            Object ttl,
            Integer retry,
            List<Object> retrySchedule,
            String retryWait,
            Object timeout,
            Map<String, String> headers,
            Object onDelivered,
            Object onDead,
            Object onAttempt
    ) {
        public static final class Builder {
            private String url;
            private String group;
            private String method;
            private Object body;
            private String bodyBase64;
            private String key;
            private Integer priority;
            private List<String> labels;
            private Object ttl;
            private Integer retry;
            private List<Object> retrySchedule;
            private String retryWait;
            private Object timeout;
            private Map<String, String> headers;
            private Object onDelivered;
            private Object onDead;
            private Object onAttempt;
            public Builder url(String url) {
                this.url = url;
                return this;
            }

            public Builder group(String group) {
                this.group = group;
                return this;
            }

            public Builder method(String method) {
                this.method = method;
                return this;
            }

            public Builder body(Object body) {
                this.body = body;
                return this;
            }

            public Builder bodyBase64(String bodyBase64) {
                this.bodyBase64 = bodyBase64;
                return this;
            }

            public Builder key(String key) {
                this.key = key;
                return this;
            }

            public Builder priority(Integer priority) {
                this.priority = priority;
                return this;
            }

            public Builder labels(List<String> labels) {
                this.labels = labels;
                return this;
            }

            public Builder ttl(Object ttl) {
                this.ttl = ttl;
                return this;
            }

            public Builder retry(Integer retry) {
                this.retry = retry;
                return this;
            }

            public Builder retrySchedule(List<Object> retrySchedule) {
                this.retrySchedule = retrySchedule;
                return this;
            }

            public Builder retryWait(String retryWait) {
                this.retryWait = retryWait;
                return this;
            }

            public Builder timeout(Object timeout) {
                this.timeout = timeout;
                return this;
            }

            public Builder headers(Map<String, String> headers) {
                this.headers = headers;
                return this;
            }

            public Builder onDelivered(Object onDelivered) {
                this.onDelivered = onDelivered;
                return this;
            }

            public Builder onDead(Object onDead) {
                this.onDead = onDead;
                return this;
            }

            public Builder onAttempt(Object onAttempt) {
                this.onAttempt = onAttempt;
                return this;
            }

            public JobOfSchedule build() {
                return new JobOfSchedule(url, group, method, body, bodyBase64, key, priority, labels, ttl, retry, retrySchedule, retryWait, timeout, headers, onDelivered, onDead, onAttempt);
            }
        }
    }


    public record JobPatch(
            String url,
            String method,
            Object body,
            String bodyBase64,
            Integer priority,
            List<String> labels,
            Object delay,
            String dueAt,
            String timezone,
            Object ttl,
            String expiresAt,
            Integer retry,
            List<Object> retrySchedule,
            String retryWait,
            Object timeout,
            Map<String, String> headers,
            Object onDelivered,
            Object onDead,
            Object onAttempt
    ) {
        public static final class Builder {
            private String url;
            private String method;
            private Object body;
            private String bodyBase64;
            private Integer priority;
            private List<String> labels;
            private Object delay;
            private String dueAt;
            private String timezone;
            private Object ttl;
            private String expiresAt;
            private Integer retry;
            private List<Object> retrySchedule;
            private String retryWait;
            private Object timeout;
            private Map<String, String> headers;
            private Object onDelivered;
            private Object onDead;
            private Object onAttempt;
            public Builder url(String url) {
                this.url = url;
                return this;
            }

            public Builder method(String method) {
                this.method = method;
                return this;
            }

            public Builder body(Object body) {
                this.body = body;
                return this;
            }

            public Builder bodyBase64(String bodyBase64) {
                this.bodyBase64 = bodyBase64;
                return this;
            }

            public Builder priority(Integer priority) {
                this.priority = priority;
                return this;
            }

            public Builder labels(List<String> labels) {
                this.labels = labels;
                return this;
            }

            public Builder delay(Object delay) {
                this.delay = delay;
                return this;
            }

            public Builder dueAt(String dueAt) {
                this.dueAt = dueAt;
                return this;
            }

            public Builder timezone(String timezone) {
                this.timezone = timezone;
                return this;
            }

            public Builder ttl(Object ttl) {
                this.ttl = ttl;
                return this;
            }

            public Builder expiresAt(String expiresAt) {
                this.expiresAt = expiresAt;
                return this;
            }

            public Builder retry(Integer retry) {
                this.retry = retry;
                return this;
            }

            public Builder retrySchedule(List<Object> retrySchedule) {
                this.retrySchedule = retrySchedule;
                return this;
            }

            public Builder retryWait(String retryWait) {
                this.retryWait = retryWait;
                return this;
            }

            public Builder timeout(Object timeout) {
                this.timeout = timeout;
                return this;
            }

            public Builder headers(Map<String, String> headers) {
                this.headers = headers;
                return this;
            }

            public Builder onDelivered(Object onDelivered) {
                this.onDelivered = onDelivered;
                return this;
            }

            public Builder onDead(Object onDead) {
                this.onDead = onDead;
                return this;
            }

            public Builder onAttempt(Object onAttempt) {
                this.onAttempt = onAttempt;
                return this;
            }

            public JobPatch build() {
                return new JobPatch(url, method, body, bodyBase64, priority, labels, delay, dueAt, timezone, ttl, expiresAt, retry, retrySchedule, retryWait, timeout, headers, onDelivered, onDead, onAttempt);
            }
        }
    }


    public record JobResult(
            Integer status,
            String jobId,
            String topic,
            String state,
            String dueAt,
            Boolean throttled,
            Boolean debounced,
            String group,
            String detail,
            List<ErrorsInner> errors,
            Integer maxPending,
            String key,
            Integer pending,
            Integer retryAfter
    ) {}


    public record JobResults(
            List<JobResult> results
    ) {}


    public record KeyRate(
            Integer jobs,
            Double per,
            Integer burst
    ) {}


    public record KeySettings(
            Boolean paused,
            String pauseReason,
            Integer maxInFlight,
            KeyRate rate,
            Integer maxPending,
            Integer weight
    ) {
        public static final class Builder {
            private Boolean paused;
            private String pauseReason;
            private Integer maxInFlight;
            private KeyRate rate;
            private Integer maxPending;
            private Integer weight;
            public Builder paused(Boolean paused) {
                this.paused = paused;
                return this;
            }

            public Builder pauseReason(String pauseReason) {
                this.pauseReason = pauseReason;
                return this;
            }

            public Builder maxInFlight(Integer maxInFlight) {
                this.maxInFlight = maxInFlight;
                return this;
            }

            public Builder rate(KeyRate rate) {
                this.rate = rate;
                return this;
            }

            public Builder maxPending(Integer maxPending) {
                this.maxPending = maxPending;
                return this;
            }

            public Builder weight(Integer weight) {
                this.weight = weight;
                return this;
            }

            public KeySettings build() {
                return new KeySettings(paused, pauseReason, maxInFlight, rate, maxPending, weight);
            }
        }
    }


    public record KeyState(
            String key,
            KeySettings settings,
            Integer waiting,
            Integer inFlight,
            Double share,
            String oldestDueAt,
            String oldestOverdueAt,
            String heldBy,
            String heldUntil
    ) {}


    public record LeaseBury(
            String jobId,
            String token,
            String error
    ) {
        public static final class Builder {
            private String jobId;
            private String token;
            private String error;
            public Builder jobId(String jobId) {
                this.jobId = jobId;
                return this;
            }

            public Builder token(String token) {
                this.token = token;
                return this;
            }

            public Builder error(String error) {
                this.error = error;
                return this;
            }

            public LeaseBury build() {
                return new LeaseBury(jobId, token, error);
            }
        }
    }


    public record LeaseCompletion(
            String jobId,
            String token,
            Object result
    ) {
        public static final class Builder {
            private String jobId;
            private String token;
            private Object result;
            public Builder jobId(String jobId) {
                this.jobId = jobId;
                return this;
            }

            public Builder token(String token) {
                this.token = token;
                return this;
            }

            public Builder result(Object result) {
                this.result = result;
                return this;
            }

            public LeaseCompletion build() {
                return new LeaseCompletion(jobId, token, result);
            }
        }
    }


    public record LeaseEnd(
            String jobId,
            String topic,
            String state,
            String dueAt,
            String leaseUntil,
            String reason
    ) {}


    public record LeaseExtension(
            String jobId,
            String token,
            Double lease,
            Object progress
    ) {
        public static final class Builder {
            private String jobId;
            private String token;
            private Double lease;
            private Object progress;
            public Builder jobId(String jobId) {
                this.jobId = jobId;
                return this;
            }

            public Builder token(String token) {
                this.token = token;
                return this;
            }

            public Builder lease(Double lease) {
                this.lease = lease;
                return this;
            }

            public Builder progress(Object progress) {
                this.progress = progress;
                return this;
            }

            public LeaseExtension build() {
                return new LeaseExtension(jobId, token, lease, progress);
            }
        }
    }


    public record LeaseProblem(
            String type,
            String title,
            Integer status,
            String detail,
            String instance,
            String state,
            String dueAt,
            String leaseUntil,
            String reason
    ) {}


    public record LeaseResult(
            Integer status,
            String jobId,
            String topic,
            String state,
            String dueAt,
            String leaseUntil,
            String reason,
            String detail,
            List<ErrorsInner> errors
    ) {}


    public record LeaseResultList(
            List<LeaseResult> results
    ) {}


    public record LeaseRetry(
            String jobId,
            String token,
            Double delay,
            String error
    ) {
        public static final class Builder {
            private String jobId;
            private String token;
            private Double delay;
            private String error;
            public Builder jobId(String jobId) {
                this.jobId = jobId;
                return this;
            }

            public Builder token(String token) {
                this.token = token;
                return this;
            }

            public Builder delay(Double delay) {
                this.delay = delay;
                return this;
            }

            public Builder error(String error) {
                this.error = error;
                return this;
            }

            public LeaseRetry build() {
                return new LeaseRetry(jobId, token, delay, error);
            }
        }
    }


    public record LeasedJob(
            String topic,
            String jobId,
            String token,
            Integer attempt,
            String leaseUntil,
            String createdAt,
            String dueAt,
            String expiresAt,
            String method,
            String key,
            Integer priority,
            List<String> labels,
            Map<String, String> headers,
            Object body,
            String bodyBase64
    ) {}


    public record LeasedName(
            String jobId,
            String token
    ) {
        public static final class Builder {
            private String jobId;
            private String token;
            public Builder jobId(String jobId) {
                this.jobId = jobId;
                return this;
            }

            public Builder token(String token) {
                this.token = token;
                return this;
            }

            public LeasedName build() {
                return new LeasedName(jobId, token);
            }
        }
    }


    public record Leases(
            List<LeasedJob> jobs
    ) {}


    public record LimitProblem(
            String type,
            String title,
            Integer status,
            String detail,
            String instance,
            List<String> users
    ) {}


    public record LimitSettings(
            Integer maxInFlight,
            Rate rate,
            Boolean paused,
            String pauseReason
    ) {
        public static final class Builder {
            private Integer maxInFlight;
            private Rate rate;
            private Boolean paused;
            private String pauseReason;
            public Builder maxInFlight(Integer maxInFlight) {
                this.maxInFlight = maxInFlight;
                return this;
            }

            public Builder rate(Rate rate) {
                this.rate = rate;
                return this;
            }

            public Builder paused(Boolean paused) {
                this.paused = paused;
                return this;
            }

            public Builder pauseReason(String pauseReason) {
                this.pauseReason = pauseReason;
                return this;
            }

            public LimitSettings build() {
                return new LimitSettings(maxInFlight, rate, paused, pauseReason);
            }
        }
    }


    public record LimitState(
            String limit,
            LimitSettings settings,
            Integer inFlight,
            Integer waitingTopics,
            String heldBy,
            String heldUntil,
            List<String> waiting
    ) {}


    public record ListAlerts200Response(
            List<OpenAlert> alerts
    ) {}


    public record ListAttempts200Response(
            String jobId,
            String topic,
            List<Attempt> attempts
    ) {}


    public record ListAudit200Response(
            List<AuditLine> lines,
            String cursor
    ) {}


    public record ListGroups200Response(
            List<GroupState> groups,
            String cursor
    ) {}


    public record ListKeys200Response(
            List<KeyState> keys,
            String cursor
    ) {}


    public record ListLimits200Response(
            List<LimitState> limits,
            String cursor
    ) {}


    public record ListReceivers200Response(
            List<Receiver> receivers,
            String cursor
    ) {}


    public record ListTokens200Response(
            List<Rights> tokens
    ) {}


    public record ListTopics200Response(
            List<TopicState> topics,
            List<PatternState> patterns,
            String cursor
    ) {}


    public record ListWorkflows200Response(
            List<WorkflowSummary> workflows,
            String cursor
    ) {}


    public record NewJob(
            String topic,
            String jobId,
            String url,
            String group,
            String method,
            Object body,
            String bodyBase64,
            String key,
            Integer priority,
            List<String> labels,
            Object delay,
            String dueAt,
            String timezone,
            Throttle throttle,
            Debounce debounce,
            String idempotencyKey,
            Object ttl,
            String expiresAt,
            Integer retry,
            List<Object> retrySchedule,
            String retryWait,
            Object timeout,
            Map<String, String> headers,
            Object onDelivered,
            Object onDead,
            Object onAttempt
    ) {
        public static final class Builder {
            private String topic;
            private String jobId;
            private String url;
            private String group;
            private String method;
            private Object body;
            private String bodyBase64;
            private String key;
            private Integer priority;
            private List<String> labels;
            private Object delay;
            private String dueAt;
            private String timezone;
            private Throttle throttle;
            private Debounce debounce;
            private String idempotencyKey;
            private Object ttl;
            private String expiresAt;
            private Integer retry;
            private List<Object> retrySchedule;
            private String retryWait;
            private Object timeout;
            private Map<String, String> headers;
            private Object onDelivered;
            private Object onDead;
            private Object onAttempt;
            public Builder topic(String topic) {
                this.topic = topic;
                return this;
            }

            public Builder jobId(String jobId) {
                this.jobId = jobId;
                return this;
            }

            public Builder url(String url) {
                this.url = url;
                return this;
            }

            public Builder group(String group) {
                this.group = group;
                return this;
            }

            public Builder method(String method) {
                this.method = method;
                return this;
            }

            public Builder body(Object body) {
                this.body = body;
                return this;
            }

            public Builder bodyBase64(String bodyBase64) {
                this.bodyBase64 = bodyBase64;
                return this;
            }

            public Builder key(String key) {
                this.key = key;
                return this;
            }

            public Builder priority(Integer priority) {
                this.priority = priority;
                return this;
            }

            public Builder labels(List<String> labels) {
                this.labels = labels;
                return this;
            }

            public Builder delay(Object delay) {
                this.delay = delay;
                return this;
            }

            public Builder dueAt(String dueAt) {
                this.dueAt = dueAt;
                return this;
            }

            public Builder timezone(String timezone) {
                this.timezone = timezone;
                return this;
            }

            public Builder throttle(Throttle throttle) {
                this.throttle = throttle;
                return this;
            }

            public Builder debounce(Debounce debounce) {
                this.debounce = debounce;
                return this;
            }

            public Builder idempotencyKey(String idempotencyKey) {
                this.idempotencyKey = idempotencyKey;
                return this;
            }

            public Builder ttl(Object ttl) {
                this.ttl = ttl;
                return this;
            }

            public Builder expiresAt(String expiresAt) {
                this.expiresAt = expiresAt;
                return this;
            }

            public Builder retry(Integer retry) {
                this.retry = retry;
                return this;
            }

            public Builder retrySchedule(List<Object> retrySchedule) {
                this.retrySchedule = retrySchedule;
                return this;
            }

            public Builder retryWait(String retryWait) {
                this.retryWait = retryWait;
                return this;
            }

            public Builder timeout(Object timeout) {
                this.timeout = timeout;
                return this;
            }

            public Builder headers(Map<String, String> headers) {
                this.headers = headers;
                return this;
            }

            public Builder onDelivered(Object onDelivered) {
                this.onDelivered = onDelivered;
                return this;
            }

            public Builder onDead(Object onDead) {
                this.onDead = onDead;
                return this;
            }

            public Builder onAttempt(Object onAttempt) {
                this.onAttempt = onAttempt;
                return this;
            }

            public NewJob build() {
                return new NewJob(topic, jobId, url, group, method, body, bodyBase64, key, priority, labels, delay, dueAt, timezone, throttle, debounce, idempotencyKey, ttl, expiresAt, retry, retrySchedule, retryWait, timeout, headers, onDelivered, onDead, onAttempt);
            }
        }
    }


    public record NewLease(
            Integer max,
            Double lease,
            Double _wait,
            String key
    ) {
        public static final class Builder {
            private Integer max;
            private Double lease;
            private Double _wait;
            private String key;
            public Builder max(Integer max) {
                this.max = max;
                return this;
            }

            public Builder lease(Double lease) {
                this.lease = lease;
                return this;
            }

            public Builder _wait(Double _wait) {
                this._wait = _wait;
                return this;
            }

            public Builder key(String key) {
                this.key = key;
                return this;
            }

            public NewLease build() {
                return new NewLease(max, lease, _wait, key);
            }
        }
    }


    public record NewSchedule(
            String cron,
            Object every,
            String timezone,
            String startAt,
            String endAt,
            Object jitter,
            Object grace,
            List<Window> windows,
            String misfire,
            String overlap,
            Object expectBy,
            Boolean paused,
            JobOfSchedule job
    ) {
        public static final class Builder {
            private String cron;
            private Object every;
            private String timezone;
            private String startAt;
            private String endAt;
            private Object jitter;
            private Object grace;
            private List<Window> windows;
            private String misfire;
            private String overlap;
            private Object expectBy;
            private Boolean paused;
            private JobOfSchedule job;
            public Builder cron(String cron) {
                this.cron = cron;
                return this;
            }

            public Builder every(Object every) {
                this.every = every;
                return this;
            }

            public Builder timezone(String timezone) {
                this.timezone = timezone;
                return this;
            }

            public Builder startAt(String startAt) {
                this.startAt = startAt;
                return this;
            }

            public Builder endAt(String endAt) {
                this.endAt = endAt;
                return this;
            }

            public Builder jitter(Object jitter) {
                this.jitter = jitter;
                return this;
            }

            public Builder grace(Object grace) {
                this.grace = grace;
                return this;
            }

            public Builder windows(List<Window> windows) {
                this.windows = windows;
                return this;
            }

            public Builder misfire(String misfire) {
                this.misfire = misfire;
                return this;
            }

            public Builder overlap(String overlap) {
                this.overlap = overlap;
                return this;
            }

            public Builder expectBy(Object expectBy) {
                this.expectBy = expectBy;
                return this;
            }

            public Builder paused(Boolean paused) {
                this.paused = paused;
                return this;
            }

            public Builder job(JobOfSchedule job) {
                this.job = job;
                return this;
            }

            public NewSchedule build() {
                return new NewSchedule(cron, every, timezone, startAt, endAt, jitter, grace, windows, misfire, overlap, expectBy, paused, job);
            }
        }
    }


    public record OpenAlert(
            String alert,
            String topic,
            String scheduleId,
            String receiver,
            String shard,
            String since,
            Long count
    ) {}


    public record Overview(
            String now,
            String clock,
            OverviewSeries series,
            OverviewJobs jobs,
            OverviewHistory history,
            OverviewOutbox outbox,
            OverviewComing coming,
            List<OverviewFailingInner> failing,
            List<OverviewOverdueInner> overdue,
            OverviewReceivers receivers,
            OverviewWorkers workers,
            OverviewRedis redis,
            List<OverviewProcessesInner> processes,
            List<OverviewBusyInner> busy
    ) {}


    public record OverviewBusyInner(
            String topic,
            Long accepted,
            Long delivered,
            Long retried,
            Long dead
    ) {}


    public record OverviewComing(
            String at,
            Long overdue,
            List<Long> minute,
            List<Long> hour,
            List<Long> day,
            List<Long> week,
            Long later,
            Boolean isSampled
    ) {}


    public record OverviewFailingInner(
            String topic,
            Long failed,
            Long attempts,
            String lastAnswer
    ) {}


    public record OverviewHistory(
            Long backlogJobs,
            Long backlogBytes,
            Double behindSeconds
    ) {}


    public record OverviewJobs(
            Long delayed,
            Long ready,
            Long held,
            Long leased,
            Long pulled,
            Long dead,
            Long retrying
    ) {}


    public record OverviewOutbox(
            Boolean isUp,
            Boolean isActive,
            Long sent,
            Long failed,
            Double oldestSeconds
    ) {}


    public record OverviewOverdueInner(
            String topic,
            String dueAt,
            Double lateSeconds,
            Long ready,
            Long held,
            Boolean isPaused,
            Boolean isPull,
            Boolean lacksUrl
    ) {}


    public record OverviewProcessesInner(
            String id,
            String host,
            Long pid,
            String version,
            String startedAt,
            Integer reactors,
            Long inFlight
    ) {}


    public record OverviewReceivers(
            Integer impaired,
            List<OverviewReceiversFirstInner> first
    ) {}


    public record OverviewReceiversFirstInner(
            String receiver,
            String path,
            String state,
            String cause,
            String probeAt
    ) {}


    public record OverviewRedis(
            Boolean isUp,
            String durability,
            Boolean isPrivate,
            String version,
            Long usedBytes,
            Long maxBytes
    ) {}


    public record OverviewSeries(
            Long from,
            Long until,
            Integer step,
            List<Long> accepted,
            List<Long> delivered,
            List<Long> retried,
            List<Long> dead,
            List<Long> cancelled,
            List<Double> lateP50Ms,
            List<Double> lateP99Ms
    ) {}


    public record OverviewWorkers(
            Long waiting,
            Long leases
    ) {}


    public record PathCheck(
            String path
    ) {}


    public record PatternState(
            String topic,
            Settings settings
    ) {}


    public record PerKey(
            Integer maxInFlight,
            KeyRate rate,
            Integer maxPending,
            Integer weight,
            String order
    ) {
        public static final class Builder {
            private Integer maxInFlight;
            private KeyRate rate;
            private Integer maxPending;
            private Integer weight;
            private String order;
            public Builder maxInFlight(Integer maxInFlight) {
                this.maxInFlight = maxInFlight;
                return this;
            }

            public Builder rate(KeyRate rate) {
                this.rate = rate;
                return this;
            }

            public Builder maxPending(Integer maxPending) {
                this.maxPending = maxPending;
                return this;
            }

            public Builder weight(Integer weight) {
                this.weight = weight;
                return this;
            }

            public Builder order(String order) {
                this.order = order;
                return this;
            }

            public PerKey build() {
                return new PerKey(maxInFlight, rate, maxPending, weight, order);
            }
        }
    }


    public record Placed(
            String jobId,
            String topic,
            String state,
            String dueAt,
            Boolean throttled,
            Boolean debounced,
            String group,
            List<SentJob> jobs
    ) {}


    public record PreviewedTime(
            String time,
            String dueAt,
            Boolean moved,
            Integer outsideWindows
    ) {}


    public record Problem(
            String type,
            String title,
            Integer status,
            String detail,
            String instance
    ) {}


    public record QuotaProblem(
            String type,
            String title,
            Integer status,
            String detail,
            String instance,
            String topic,
            String key,
            Integer maxPending,
            Integer pending,
            Integer retryAfter
    ) {}


    public record Rate(
            Integer jobs,
            Double per,
            Integer burst,
            Boolean window
    ) {}


    public record ReadStats200Response(
            String topic,
            String from,
            String to,
            Double step,
            Boolean partial,
            List<ReadStats200ResponseStepsInner> steps
    ) {}


    public record ReadStats200ResponseStepsInner(
            String at,
            Integer delivered,
            Integer cancelled,
            Integer dead
    ) {}


    public record Readiness(
            Boolean ready,
            Redis redis,
            ReadinessDurability durability
    ) {}


    public record ReadinessDurability(
            String configured,
            String inForce,
            String note
    ) {}


    public record ReadinessProblem(
            String type,
            String title,
            Integer status,
            String detail,
            String instance,
            Boolean ready,
            Redis redis,
            ReadinessProblemDurability durability
    ) {}


    public record ReadinessProblemDurability(
            String configured,
            String inForce,
            String note
    ) {}


    public record Receiver(
            String receiver,
            String path,
            String state,
            Integer failures,
            String openSince,
            String probeAt,
            Integer maxInFlight,
            String certificateEndsAt,
            ReceiverLastFailure lastFailure,
            String reportedAt
    ) {}


    public record ReceiverLastFailure(
            String at,
            Integer status,
            String error
    ) {}


    public record Redis(
            String version,
            String role,
            String evictionPolicy
    ) {}


    public record Rekey200Response(
            Integer examined,
            Integer encrypted,
            Integer left,
            String cursor
    ) {}


    public record RemoveGroup200Response(
            String group,
            String state
    ) {}


    public record RemoveLimit200Response(
            String limit,
            String state
    ) {}


    public record ReportAlertRequest(
            String alert,
            String state,
            String text,
            String topic,
            String scheduleId,
            String receiver,
            String shard,
            String at,
            String since,
            Long count,
            List<String> jobs,
            Long attempts,
            Long failed,
            Long overdueMs,
            Long pending,
            Long maxPending,
            String expectedUntil,
            String deliveredAt,
            String cause,
            Long behindMs
    ) {}


    public record Rights(
            String name,
            List<String> scopes,
            List<String> topics,
            List<String> groups,
            Long jobsPerHour,
            String lastUsedAt
    ) {}


    public record Schedule(
            String topic,
            String scheduleId,
            String cron,
            Double every,
            String timezone,
            String startAt,
            String endAt,
            Double jitter,
            Double grace,
            List<Window> windows,
            String misfire,
            String overlap,
            Double expectBy,
            String expectedUntil,
            Boolean missed,
            String deliveredAt,
            Boolean paused,
            String createdAt,
            Object job,
            String problem,
            List<String> next,
            ScheduleLast last
    ) {}


    public record ScheduleLast(
            String time,
            String outcome,
            String at,
            Boolean missed,
            String jobId,
            String state,
            Integer attempts,
            String reason,
            List<SentJob> jobs
    ) {}


    public record SchedulePatch(
            String cron,
            Object every,
            String timezone,
            String startAt,
            String endAt,
            Object jitter,
            Object grace,
            List<Window> windows,
            String misfire,
            String overlap,
            Object expectBy,
            Boolean paused,
            Object job
    ) {}


    public record SchedulePreview(
            String now,
            String text,
            Boolean paused,
            String overlap,
            List<PreviewedTime> times,
            String endsBy,
            List<ClockChange> clockChanges
    ) {}


    public record Scheduled(
            String jobId,
            String topic,
            String state,
            String dueAt,
            Boolean attemptInFlight,
            String group,
            List<SentJob> jobs
    ) {}


    public record Sent(
            String jobId,
            String topic,
            String group,
            List<SentJob> jobs
    ) {}


    public record SentJob(
            String endpoint,
            String jobId,
            String state,
            String dueAt
    ) {}


    public record Settings(
            Boolean paused,
            String pauseReason,
            Integer maxInFlight,
            Integer maxPending,
            Rate rate,
            Batch batch,
            Boolean defer,
            Boolean events,
            Boolean results,
            String limit,
            Integer weight,
            String order,
            String onHeadDead,
            List<Window> windows,
            PerKey perKey,
            Object priorityAge,
            Integer retryPriority,
            String delivery,
            List<Double> retrySchedule,
            Double timeout,
            Double jitter,
            String url,
            Map<String, String> headers,
            List<String> secrets,
            String signature,
            String egressProxy,
            Auth auth,
            Object onDelivered,
            Object onDead,
            Object onAttempt,
            List<Alert> alerts,
            Boolean breaker,
            Double retention
    ) {}


    public record TestAlerts200Response(
            List<AlertTest> jobs
    ) {}


    public record Throttle(
            String key,
            Object per
    ) {
        public static final class Builder {
            private String key;
            private Object per;
            public Builder key(String key) {
                this.key = key;
                return this;
            }

            public Builder per(Object per) {
                this.per = per;
                return this;
            }

            public Throttle build() {
                return new Throttle(key, per);
            }
        }
    }


    public record TopicState(
            String topic,
            Settings settings,
            Map<String, String> from,
            TopicStateJobs jobs,
            Integer overdue,
            TopicStateQuota quota,
            String oldestOverdueAt,
            TopicStateLastHour lastHour,
            Failing failing,
            String oldestDueAt,
            TopicStatePull pull,
            TopicStateWindow window,
            String heldBy,
            String heldUntil,
            String head
    ) {}


    public record TopicStateJobs(
            Integer delayed,
            Integer ready,
            Integer held,
            Integer leased,
            Integer dead
    ) {}


    public record TopicStateLastHour(
            Integer delivered,
            Integer retried,
            Integer dead
    ) {}


    public record TopicStatePull(
            Integer waiting,
            Integer leases,
            String oldestLeaseAt
    ) {}


    public record TopicStateQuota(
            Integer maxPending,
            Integer pending
    ) {}


    public record TopicStateWindow(
            String beganAt,
            Integer attempts
    ) {}


    public record ValidationProblem(
            String type,
            String title,
            Integer status,
            String detail,
            String instance,
            List<ErrorsInner> errors
    ) {}


    public record WhyJob200Response(
            String jobId,
            String topic,
            String state,
            String why,
            String detail,
            String until,
            String endedAt
    ) {}


    public record Window(
            List<String> days,
            String from,
            String to,
            String timezone
    ) {
        public static final class Builder {
            private List<String> days;
            private String from;
            private String to;
            private String timezone;
            public Builder days(List<String> days) {
                this.days = days;
                return this;
            }

            public Builder from(String from) {
                this.from = from;
                return this;
            }

            public Builder to(String to) {
                this.to = to;
                return this;
            }

            public Builder timezone(String timezone) {
                this.timezone = timezone;
                return this;
            }

            public Window build() {
                return new Window(days, from, to, timezone);
            }
        }
    }


    public record Workflow(
            String topic,
            String workflowId,
            String state,
            String createdAt,
            String endedAt,
            String url,
            List<String> labels,
            Integer elementCount,
            Integer openCount,
            WorkflowJob failedBy,
            WorkflowParent parent,
            Integer bytes,
            List<WorkflowElement> elements,
            List<WorkflowOpenJob> jobs
    ) {}


    public record WorkflowElement(
            String topic,
            String jobId,
            String kind,
            String at,
            Integer bytes
    ) {}


    public record WorkflowJob(
            String topic,
            String jobId
    ) {}


    public record WorkflowOpenJob(
            String topic,
            String jobId,
            String role,
            Integer element
    ) {}


    public record WorkflowParent(
            String topic,
            String workflowId,
            String createdAt
    ) {}


    public record WorkflowSummary(
            String topic,
            String workflowId,
            String state,
            String createdAt,
            String endedAt,
            String url,
            List<String> labels,
            Integer elementCount,
            Integer openCount,
            WorkflowJob failedBy
    ) {}

}

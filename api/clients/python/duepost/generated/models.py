# Generated from api/openapi.yaml by api/clients/python/generate. Do not edit.

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from duepost.wire import Time
from typing_extensions import NotRequired


class Access(TypedDict):
    tokens: bool
    name: NotRequired[str]
    scopes: list[Literal["schedule", "read", "cancel", "admin", "lease"]]
    topics: NotRequired[list[str]]
    groups: NotRequired[list[str]]
    jobsPerHour: NotRequired[int]
    clock: NotRequired[Literal["manual"]]


class Jobs(TypedDict):
    overdue: int
    waiting: int
    scheduled: int
    topics: int
    schedules: int


class Attempts(TypedDict):
    measured: int
    durationMs: int
    maxInFlight: int


class Series(TypedDict):
    due: list[int]
    begun: list[int]
    backlog: list[int]
    lateMs: list[int]
    paused: list[int]


class Series1(TypedDict):
    due: list[int]
    begun: list[int]
    backlog: list[int]


class Rights(TypedDict):
    name: NotRequired[str]
    scopes: list[Literal["schedule", "read", "cancel", "admin", "lease"]]
    topics: NotRequired[list[str]]
    groups: NotRequired[list[str]]
    jobsPerHour: NotRequired[int]
    lastUsedAt: NotRequired[str]


class NotImportedItem(TypedDict):
    line: int
    kind: NotRequired[str]
    name: NotRequired[str]
    result: Literal["exists", "refused"]
    detail: str


class Imported(TypedDict):
    imported: int
    same: int
    exists: int
    refused: int
    notImported: list[NotImportedItem]


Series2 = TypedDict(
    "Series2",
    {
        "from": int,
        "until": int,
        "step": int,
        "accepted": list[int],
        "delivered": list[int],
        "retried": list[int],
        "dead": list[int],
        "cancelled": list[int],
        "lateP50Ms": list[float | None],
        "lateP99Ms": list[float | None],
    },
)


class Jobs1(TypedDict):
    delayed: NotRequired[int]
    ready: NotRequired[int]
    held: int
    leased: int
    pulled: int
    dead: int
    retrying: int


class History(TypedDict):
    backlogJobs: int
    backlogBytes: int
    behindSeconds: float


class Outbox(TypedDict):
    isUp: bool
    isActive: bool
    sent: int
    failed: int
    oldestSeconds: NotRequired[float]


class Workers(TypedDict):
    waiting: int
    leases: int


class Redis(TypedDict):
    isUp: bool
    durability: str
    isPrivate: bool
    version: NotRequired[str]
    usedBytes: NotRequired[int]
    maxBytes: NotRequired[int]


class BusyItem(TypedDict):
    topic: str
    accepted: int
    delivered: int
    retried: int
    dead: int


OwnTopic: TypeAlias = str


Seconds: TypeAlias = float


DurationText: TypeAlias = str


class Throttle(TypedDict):
    key: str
    per: float | str


class Debounce(TypedDict):
    key: str
    wait: float | str
    maxWait: NotRequired[float | str]


class Alert(TypedDict):
    on: Literal["died", "failing", "overdue", "quotaReached", "missed", "breakerOpened", "historyBehind", "durabilityLost", "certificateEnds"]
    url: str
    form: NotRequired[Literal["json", "slack"]]
    after: NotRequired[float | str]
    before: NotRequired[float | str]
    share: NotRequired[float]
    attempts: NotRequired[int]


class OpenAlert(TypedDict):
    alert: str
    topic: NotRequired[str]
    scheduleId: NotRequired[str]
    receiver: NotRequired[str]
    shard: NotRequired[str]
    since: str
    count: NotRequired[int]


class AlertTest(TypedDict):
    on: str
    url: str
    topic: str
    jobId: str


Window = TypedDict(
    "Window",
    {
        "days": NotRequired[list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]]],
        "from": str,
        "to": str,
        "timezone": NotRequired[str],
    },
)


class CallbackTarget(TypedDict):
    url: str
    method: NotRequired[Literal["POST", "PUT", "PATCH"]]
    headers: NotRequired[dict[str, str]]
    includeBody: NotRequired[bool]


class Rate(TypedDict):
    jobs: int
    per: float
    burst: NotRequired[int]
    window: NotRequired[bool]


class Result(TypedDict):
    jobId: str
    ok: NotRequired[bool]
    retry: NotRequired[float]
    bury: NotRequired[str]


class BatchResults(TypedDict):
    results: NotRequired[list[Result]]


class Batch(TypedDict):
    size: int
    wait: NotRequired[float]
    maxBytes: NotRequired[int]


class KeyRate(TypedDict):
    jobs: int
    per: float
    burst: NotRequired[int]


class PerKey(TypedDict):
    maxInFlight: NotRequired[int]
    rate: NotRequired[KeyRate]
    maxPending: NotRequired[int]
    weight: NotRequired[int]
    order: NotRequired[Literal["fifo"]]


class Auth(TypedDict):
    type: Literal["jwt", "oauth2", "mtls"]
    origins: NotRequired[list[str]]
    audience: NotRequired[str]
    algorithm: NotRequired[Literal["EdDSA", "ES256", "RS256"]]
    tokenUrl: NotRequired[str]
    clientId: NotRequired[str]
    clientSecret: NotRequired[str]
    scope: NotRequired[str]
    clientAuth: NotRequired[Literal["basic", "post"]]
    certificate: NotRequired[str]
    privateKey: NotRequired[str]


class NewLease(TypedDict):
    max: NotRequired[int]
    lease: NotRequired[float]
    wait: NotRequired[float]
    key: NotRequired[str]


class LeasedJob(TypedDict):
    topic: str
    jobId: str
    token: str
    attempt: int
    leaseUntil: str
    createdAt: str
    dueAt: str
    expiresAt: NotRequired[str]
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]]
    key: NotRequired[str]
    priority: int
    labels: list[str]
    headers: dict[str, str]
    body: NotRequired[Any]
    bodyBase64: NotRequired[str]


class LeasedName(TypedDict):
    jobId: str
    token: str


class LeaseCompletion(TypedDict):
    jobId: str
    token: str
    result: NotRequired[Any]


class LeaseExtension(TypedDict):
    jobId: str
    token: str
    lease: NotRequired[float]
    progress: NotRequired[Any]


class LeaseEnd(TypedDict):
    jobId: str
    topic: str
    state: Literal["delivered", "delayed", "ready", "leased", "dead"]
    dueAt: NotRequired[str]
    leaseUntil: NotRequired[str]
    reason: NotRequired[str]


class LeaseProblem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    state: NotRequired[Literal["delivered", "cancelled", "delayed", "ready", "leased", "dead"]]
    dueAt: NotRequired[str]
    leaseUntil: NotRequired[str]
    reason: NotRequired[str]


class SettingsPatch(TypedDict):
    pass


class Endpoint(TypedDict):
    url: str
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]]
    headers: NotRequired[dict[str, str]]


class Endpoints(TypedDict):
    url: NotRequired[str | None]
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] | None]
    headers: NotRequired[dict[str, Any] | None]


class GroupPatch(TypedDict):
    endpoints: NotRequired[dict[str, Endpoints | None]]


class WorkflowJob(TypedDict):
    topic: str
    jobId: str


class WorkflowSummary(TypedDict):
    topic: str
    workflowId: str
    state: Literal["active", "succeeded", "failed", "cancelled"]
    createdAt: str
    endedAt: NotRequired[str]
    url: NotRequired[str]
    labels: NotRequired[list[str]]
    elementCount: int
    openCount: int
    failedBy: NotRequired[WorkflowJob]


class Parent(TypedDict):
    topic: str
    workflowId: str
    createdAt: str


class WorkflowElement(TypedDict):
    topic: str
    jobId: str
    kind: Literal["step", "call"]
    at: str
    bytes: int


class WorkflowOpenJob(TypedDict):
    topic: str
    jobId: str
    role: Literal["step", "call", "answer", "wait"]
    element: NotRequired[int]


class KeySettings(TypedDict):
    paused: NotRequired[bool]
    pauseReason: NotRequired[str]
    maxInFlight: NotRequired[int]
    rate: NotRequired[KeyRate]
    maxPending: NotRequired[int]
    weight: NotRequired[int]


class KeyPatch(TypedDict):
    pass


class KeyState(TypedDict):
    key: str
    settings: KeySettings
    waiting: int
    inFlight: int
    share: float
    oldestDueAt: NotRequired[str]
    oldestOverdueAt: NotRequired[str]
    heldBy: NotRequired[Literal["paused", "maxInFlight", "order", "rate", "batch"]]
    heldUntil: NotRequired[str]


class LimitSettings(TypedDict):
    maxInFlight: NotRequired[int]
    rate: NotRequired[Rate]
    paused: NotRequired[bool]
    pauseReason: NotRequired[str]


class LimitPatch(TypedDict):
    pass


AuditLine = TypedDict(
    "AuditLine",
    {
        "id": str,
        "at": str,
        "action": str,
        "token": NotRequired[str],
        "from": str,
        "kind": Literal["data", "group", "job", "jobs", "key", "limit", "now", "pattern", "receiver", "schedule", "tokens", "topic", "workflow"],
        "target": NotRequired[str],
        "topic": NotRequired[str],
        "filter": NotRequired[str],
        "part": NotRequired[Literal["page", "last"]],
        "outcome": Literal["done", "not_durable", "unknown"],
        "matched": NotRequired[int],
        "done": NotRequired[int],
        "skipped": NotRequired[int],
        "unknown": NotRequired[int],
        "removed": NotRequired[int],
        "lines": NotRequired[int],
        "imported": NotRequired[int],
        "same": NotRequired[int],
        "exists": NotRequired[int],
        "refused": NotRequired[int],
        "before": NotRequired[dict[str, Any]],
        "after": NotRequired[dict[str, Any]],
        "beforeLeftOut": NotRequired[bool],
        "afterLeftOut": NotRequired[bool],
    },
)


class LimitState(TypedDict):
    limit: str
    settings: LimitSettings
    inFlight: int
    waitingTopics: int
    heldBy: NotRequired[Literal["paused", "maxInFlight", "rate"]]
    heldUntil: NotRequired[str]
    waiting: NotRequired[list[str]]


class GroupState(TypedDict):
    group: str
    endpoints: dict[str, Endpoint]


class SentJob(TypedDict):
    endpoint: str
    jobId: str
    state: Literal["delayed", "ready", "leased", "dead", "delivered", "cancelled", "ended"]
    dueAt: NotRequired[str]


class Sent(TypedDict):
    jobId: str
    topic: str
    group: str
    jobs: list[SentJob]


class LastFailure(TypedDict):
    at: str
    status: NotRequired[Literal[502, 503, 504]]
    error: NotRequired[Literal["connect", "tls", "timeout", "reset"]]


class Receiver(TypedDict):
    receiver: str
    path: NotRequired[str]
    state: Literal["closed", "open", "probing"]
    failures: int
    openSince: NotRequired[str]
    probeAt: NotRequired[str]
    maxInFlight: NotRequired[int]
    certificateEndsAt: NotRequired[str]
    lastFailure: NotRequired[LastFailure]
    reportedAt: str


class Failing(TypedDict):
    failed: int
    attempts: int
    lastAnswer: NotRequired[str]


class Jobs2(TypedDict):
    delayed: int
    ready: int
    held: int
    leased: int
    dead: int


class Quota(TypedDict):
    maxPending: int
    pending: int


class LastHour(TypedDict):
    delivered: int
    retried: int
    dead: int


class Pull(TypedDict):
    waiting: int
    leases: int
    oldestLeaseAt: NotRequired[str]


class Window1(TypedDict):
    beganAt: str
    attempts: int


class Redis1(TypedDict):
    version: str
    role: NotRequired[Literal["master", "slave"]]
    evictionPolicy: NotRequired[str]


class Health(TypedDict):
    healthy: bool


class PathCheck(TypedDict):
    path: str


class Durability1(TypedDict):
    configured: str
    inForce: str
    note: NotRequired[Literal["trusted, not checked"]]


class Readiness(TypedDict):
    ready: bool
    redis: Redis1
    durability: Durability1


class Problem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]


class QuotaProblem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    topic: NotRequired[str]
    key: NotRequired[str]
    maxPending: NotRequired[int]
    pending: NotRequired[int]
    retryAfter: NotRequired[int]


class LimitProblem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    users: list[str]


class Error(TypedDict):
    field: str
    detail: str


class ConflictProblem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    state: NotRequired[Literal["delayed", "ready", "leased", "dead", "delivered", "cancelled"]]
    dueAt: NotRequired[str]


class Durability2(TypedDict):
    configured: str
    inForce: NotRequired[str]
    note: NotRequired[Literal["trusted, not checked"]]


class ReadinessProblem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    ready: bool
    redis: NotRequired[Redis1]
    durability: Durability2


class ScheduleJobParametersQuery(TypedDict):
    wait: NotRequired[str]


class ListJobsParametersQuery(TypedDict):
    state: NotRequired[Literal["delayed", "ready", "leased", "dead", "delivered", "cancelled", "any"]]
    source: NotRequired[Literal["redis", "history"]]
    topic: NotRequired[str]
    dueAfter: NotRequired[str]
    dueBefore: NotRequired[str]
    diedAfter: NotRequired[str]
    diedBefore: NotRequired[str]
    endedAfter: NotRequired[str]
    endedBefore: NotRequired[str]
    idPrefix: NotRequired[str]
    reason: NotRequired[str]
    lastStatus: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]
    urlHost: NotRequired[str]
    order: NotRequired[Literal["oldest", "newest"]]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class CancelJobsParametersQuery(TypedDict):
    state: Literal["delayed", "ready", "leased", "dead"]
    topic: NotRequired[str]
    dueAfter: NotRequired[str]
    dueBefore: NotRequired[str]
    diedAfter: NotRequired[str]
    diedBefore: NotRequired[str]
    idPrefix: NotRequired[str]
    reason: NotRequired[str]
    lastStatus: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]
    urlHost: NotRequired[str]
    order: NotRequired[Literal["oldest", "newest"]]
    limit: NotRequired[int]
    all: NotRequired[bool]
    pageLimit: NotRequired[int]
    cursor: NotRequired[str]
    dryRun: NotRequired[bool]


class CancelJobsResponse(TypedDict):
    matched: int
    done: int
    skipped: int
    partial: NotRequired[bool]
    source: NotRequired[Literal["history"]]
    cursor: NotRequired[str]


class CountJobsParametersQuery(TypedDict):
    state: NotRequired[Literal["delayed", "ready", "leased", "dead", "delivered", "cancelled", "any"]]
    source: NotRequired[Literal["redis", "history"]]
    topic: NotRequired[str]
    dueAfter: NotRequired[str]
    dueBefore: NotRequired[str]
    diedAfter: NotRequired[str]
    diedBefore: NotRequired[str]
    endedAfter: NotRequired[str]
    endedBefore: NotRequired[str]
    idPrefix: NotRequired[str]
    reason: NotRequired[str]
    lastStatus: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]
    urlHost: NotRequired[str]
    order: NotRequired[Literal["oldest", "newest"]]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class CountJobsResponse(TypedDict):
    count: int
    delivered: NotRequired[int]
    cancelled: NotRequired[int]
    dead: NotRequired[int]
    source: NotRequired[Literal["history"]]
    partial: NotRequired[bool]
    cursor: NotRequired[str]


class RedriveJobsParametersQuery(TypedDict):
    state: NotRequired[Literal["dead"]]
    source: NotRequired[Literal["redis", "history"]]
    topic: NotRequired[str]
    diedAfter: NotRequired[str]
    diedBefore: NotRequired[str]
    idPrefix: NotRequired[str]
    reason: NotRequired[str]
    lastStatus: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]
    urlHost: NotRequired[str]
    order: NotRequired[Literal["oldest", "newest"]]
    limit: NotRequired[int]
    all: NotRequired[bool]
    pageLimit: NotRequired[int]
    cursor: NotRequired[str]
    perSecond: NotRequired[float]
    dryRun: NotRequired[bool]


class RedriveJobsResponse(TypedDict):
    matched: int
    done: int
    skipped: int
    partial: NotRequired[bool]
    source: NotRequired[Literal["history"]]
    cursor: NotRequired[str]


class RunJobsParametersQuery(TypedDict):
    state: Literal["delayed", "ready", "dead"]
    topic: NotRequired[str]
    dueAfter: NotRequired[str]
    dueBefore: NotRequired[str]
    diedAfter: NotRequired[str]
    diedBefore: NotRequired[str]
    idPrefix: NotRequired[str]
    reason: NotRequired[str]
    lastStatus: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]
    urlHost: NotRequired[str]
    order: NotRequired[Literal["oldest", "newest"]]
    limit: NotRequired[int]
    all: NotRequired[bool]
    pageLimit: NotRequired[int]
    cursor: NotRequired[str]
    dryRun: NotRequired[bool]


class RunJobsResponse(TypedDict):
    matched: int
    done: int
    skipped: int
    partial: NotRequired[bool]
    source: NotRequired[Literal["history"]]
    cursor: NotRequired[str]


class RescheduleJobsParametersQuery(TypedDict):
    state: Literal["delayed", "ready", "dead"]
    topic: NotRequired[str]
    dueAfter: NotRequired[str]
    dueBefore: NotRequired[str]
    diedAfter: NotRequired[str]
    diedBefore: NotRequired[str]
    idPrefix: NotRequired[str]
    reason: NotRequired[str]
    lastStatus: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]
    urlHost: NotRequired[str]
    order: NotRequired[Literal["oldest", "newest"]]
    limit: NotRequired[int]
    all: NotRequired[bool]
    pageLimit: NotRequired[int]
    cursor: NotRequired[str]
    delay: NotRequired[str]
    dueAt: NotRequired[str]
    dryRun: NotRequired[bool]


class RescheduleJobsResponse(TypedDict):
    matched: int
    done: int
    skipped: int
    partial: NotRequired[bool]
    source: NotRequired[Literal["history"]]
    cursor: NotRequired[str]


class ReadEventsParametersQuery(TypedDict):
    topic: list[str]
    key: NotRequired[str]
    types: NotRequired[str]


class ReadJobParametersQuery(TypedDict):
    group: NotRequired[str]
    wait: NotRequired[str]


class CancelJobParametersQuery(TypedDict):
    group: NotRequired[str]


class CancelJobResponse(TypedDict):
    state: Literal["cancelled"]
    attemptInFlight: bool
    cancelled: NotRequired[int]


class RunJobParametersQuery(TypedDict):
    resend: NotRequired[bool]


class WhyJobResponse(TypedDict):
    jobId: str
    topic: str
    state: Literal["delayed", "ready", "leased", "dead", "delivered", "cancelled"]
    why: Literal["not_due", "waits_for_retry", "not_yet", "in_turn", "paused", "windows", "settings", "no_url", "encryption_key", "later_version", "max_in_flight", "rate", "batch", "key", "limit", "order", "breaker", "receiver_limit", "waits_for_worker", "under_way", "dead", "delivered", "cancelled"]
    detail: str
    until: NotRequired[str]
    endedAt: NotRequired[str]


class ReadSentJobsParametersQuery(TypedDict):
    group: str


ReadForecastParametersQuery = TypedDict(
    "ReadForecastParametersQuery",
    {
        "from": NotRequired[str],
        "to": NotRequired[str],
        "step": NotRequired[str],
        "topic": NotRequired[str],
        "duration": NotRequired[str],
    },
)


ReadStatsParametersQuery = TypedDict(
    "ReadStatsParametersQuery",
    {
        "from": NotRequired[str],
        "to": NotRequired[str],
        "step": NotRequired[str],
        "topic": NotRequired[str],
    },
)


class Step(TypedDict):
    at: str
    delivered: int
    cancelled: int
    dead: int


ReadStatsResponse = TypedDict(
    "ReadStatsResponse",
    {
        "topic": NotRequired[str],
        "from": str,
        "to": str,
        "step": float,
        "partial": NotRequired[bool],
        "steps": list[Step],
    },
)


class ListTokensResponse(TypedDict):
    tokens: list[Rights]


ListAuditParametersQuery = TypedDict(
    "ListAuditParametersQuery",
    {
        "from": NotRequired[str],
        "to": NotRequired[str],
        "action": NotRequired[str],
        "topic": NotRequired[str],
        "token": NotRequired[str],
        "limit": NotRequired[int],
        "cursor": NotRequired[str],
    },
)


class ListAuditResponse(TypedDict):
    lines: list[AuditLine]
    cursor: NotRequired[str]


ExplainCronParametersQuery = TypedDict(
    "ExplainCronParametersQuery",
    {
        "expression": NotRequired[str],
        "every": NotRequired[str],
        "timezone": NotRequired[str],
        "windows": NotRequired[str],
        "from": NotRequired[str],
    },
)


class RekeyParametersQuery(TypedDict):
    cursor: NotRequired[str]


class RekeyResponse(TypedDict):
    examined: int
    encrypted: int
    left: int
    cursor: NotRequired[str]


class ExportDataParametersQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class ImportDataParametersQuery(TypedDict):
    moving: NotRequired[bool]


class ReadOverviewParametersQuery(TypedDict):
    after: NotRequired[int]
    step: NotRequired[int]


class DeleteHistoryParametersQuery(TypedDict):
    topic: NotRequired[str]
    before: NotRequired[str]
    state: NotRequired[Literal["dead", "delivered", "cancelled", "any"]]


class DeleteHistoryResponse(TypedDict):
    deleted: int
    hasMore: bool


class ListTopicsParametersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    patterns: NotRequired[bool]
    failing: NotRequired[bool]


class ListKeysParametersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListKeysResponse(TypedDict):
    keys: list[KeyState]
    cursor: NotRequired[str]


class TestAlertsResponse(TypedDict):
    jobs: list[AlertTest]


class ListAlertsResponse(TypedDict):
    alerts: list[OpenAlert]


class ReplaceKeyResponse(TypedDict):
    topic: str
    key: str
    settings: KeySettings


class ChangeKeyResponse(TypedDict):
    topic: str
    key: str
    settings: KeySettings


class ResetKeyResponse(TypedDict):
    topic: str
    key: str
    settings: KeySettings


class ListLimitsParametersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListLimitsResponse(TypedDict):
    limits: list[LimitState]
    cursor: NotRequired[str]


class ReplaceLimitResponse(TypedDict):
    limit: str
    settings: LimitSettings


class ChangeLimitResponse(TypedDict):
    limit: str
    settings: LimitSettings


class RemoveLimitResponse(TypedDict):
    limit: str
    state: Literal["removed"]


class ListGroupsParametersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListGroupsResponse(TypedDict):
    groups: list[GroupState]
    cursor: NotRequired[str]


class RemoveGroupResponse(TypedDict):
    group: str
    state: Literal["removed"]


class ListSchedulesParametersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    topicPrefix: NotRequired[str]
    paused: NotRequired[bool]
    nextAfter: NotRequired[str]
    nextBefore: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]


class ListSchedulesOfTopicParametersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    idPrefix: NotRequired[str]
    paused: NotRequired[bool]
    nextAfter: NotRequired[str]
    nextBefore: NotRequired[str]
    label: NotRequired[list[str]]
    key: NotRequired[str]


class DeleteScheduleResponse(TypedDict):
    topic: str
    scheduleId: str


class PreviewScheduleParametersQuery(TypedDict):
    count: NotRequired[int]


class ListWorkflowsParametersQuery(TypedDict):
    topic: NotRequired[str]
    state: NotRequired[Literal["active", "succeeded", "failed", "cancelled"]]
    idPrefix: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListWorkflowsResponse(TypedDict):
    workflows: list[WorkflowSummary]
    cursor: NotRequired[str]


class ReadWorkflowParametersQuery(TypedDict):
    created: NotRequired[str]


class CancelWorkflowResponse(TypedDict):
    topic: str
    workflowId: str
    state: Literal["cancelled"]


class ListReceiversParametersQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListReceiversResponse(TypedDict):
    receivers: list[Receiver]
    cursor: NotRequired[str]


class Key(TypedDict):
    kty: Literal["OKP", "EC", "RSA"]
    alg: Literal["EdDSA", "ES256", "RS256"]
    use: Literal["sig"]
    kid: str
    crv: NotRequired[str]
    x: NotRequired[str]
    y: NotRequired[str]
    e: NotRequired[str]
    n: NotRequired[str]


class GetIdentityKeysResponse(TypedDict):
    keys: list[Key]


class CronTimes(TypedDict):
    text: str
    timezone: str
    next: list[str]


class PreviewedTime(TypedDict):
    time: str
    dueAt: str
    moved: NotRequired[Literal[True]]
    outsideWindows: NotRequired[int]


class ClockChange(TypedDict):
    at: str
    seconds: int
    times: int
    effect: Literal["moved", "skipped", "once", "twice"]


class Schedule(TypedDict):
    topic: str
    scheduleId: str
    jobs: int


class ForecastBacklog(TypedDict):
    peak: int
    peakAt: NotRequired[str]
    lateMs: int
    left: int
    drainedAt: NotRequired[str]


class ForecastLine(TypedDict):
    topic: NotRequired[str]
    limit: NotRequired[str]
    due: int
    by: NotRequired[Literal["paused", "windows", "order", "maxInFlight", "rate"]]
    peakBacklog: int
    peakAt: NotRequired[str]
    lateMs: int
    left: int
    drainedAt: NotRequired[str]
    series: Series1


class Clock(TypedDict):
    clock: Literal["manual"]
    now: str
    next: NotRequired[str]
    inFlight: int


class ClockTurn(TypedDict):
    advance: NotRequired[float | str]
    to: NotRequired[str]
    untilIdle: NotRequired[bool]
    limit: NotRequired[int]


class Fired(TypedDict):
    at: str
    topic: str
    jobId: str
    event: Literal["attempt", "scheduled", "expired", "dead", "lapsed"]
    schedule: NotRequired[str]
    attempt: NotRequired[int]
    status: NotRequired[int]
    error: NotRequired[Literal["dns", "connect", "tls", "timeout", "reset", "target_refused", "answer_too_large", "protocol", "worker", "lease_expired", "other"]]
    outcome: NotRequired[Literal["delivered", "again", "deferred", "retry", "dead"]]
    nextAt: NotRequired[str]


class Coming(TypedDict):
    at: str
    overdue: int
    minute: list[int]
    hour: list[int]
    day: list[int]
    week: list[int]
    later: int
    isSampled: bool


class FailingItem(TypedDict):
    topic: str
    failed: int
    attempts: int
    lastAnswer: NotRequired[str]


class OverdueItem(TypedDict):
    topic: str
    dueAt: str
    lateSeconds: float
    ready: int
    held: int
    isPaused: NotRequired[bool]
    isPull: NotRequired[bool]
    lacksUrl: NotRequired[bool]


class FirstItem(TypedDict):
    receiver: str
    path: NotRequired[str]
    state: Literal["closed", "open", "probing"]
    cause: NotRequired[str]
    probeAt: NotRequired[str]


class Receivers(TypedDict):
    impaired: int
    first: list[FirstItem]


class Process(TypedDict):
    id: str
    host: str
    pid: int
    version: str
    startedAt: str
    reactors: int
    inFlight: int


class Overview(TypedDict):
    now: str
    clock: NotRequired[Literal["manual"]]
    series: NotRequired[Series2]
    jobs: NotRequired[Jobs1]
    history: NotRequired[History]
    outbox: NotRequired[Outbox]
    coming: NotRequired[Coming]
    failing: NotRequired[list[FailingItem]]
    overdue: NotRequired[list[OverdueItem]]
    receivers: NotRequired[Receivers]
    workers: NotRequired[Workers]
    redis: NotRequired[Redis]
    processes: NotRequired[list[Process]]
    busy: list[BusyItem]


class SchedulePatch(TypedDict):
    cron: NotRequired[str | None]
    every: NotRequired[float | str | None]
    timezone: NotRequired[str | None]
    startAt: NotRequired[str | None]
    endAt: NotRequired[str | None]
    jitter: NotRequired[float | str | None]
    grace: NotRequired[float | str | None]
    windows: NotRequired[list[Window] | None]
    misfire: NotRequired[str | None]
    overlap: NotRequired[str | None]
    expectBy: NotRequired[float | str | None]
    paused: NotRequired[bool | None]
    job: NotRequired[dict[str, Any]]


class Last(TypedDict):
    time: str
    outcome: Literal["fired", "skipped", "overlap", "conflict", "noUrl", "noGroup", "unsendable", "full", "quota", "held"]
    at: str
    missed: bool
    jobId: NotRequired[str]
    state: NotRequired[Literal["delayed", "ready", "leased", "dead", "delivered", "cancelled"]]
    attempts: NotRequired[int]
    reason: NotRequired[str]
    jobs: NotRequired[list[SentJob]]


class Schedule1(TypedDict):
    topic: str
    scheduleId: str
    cron: NotRequired[str]
    every: NotRequired[float]
    timezone: NotRequired[str]
    startAt: NotRequired[str]
    endAt: NotRequired[str]
    jitter: NotRequired[float]
    grace: NotRequired[float]
    windows: NotRequired[list[Window]]
    misfire: NotRequired[Literal["one", "skip", "all"]]
    overlap: NotRequired[Literal["allow", "skip"]]
    expectBy: NotRequired[float]
    expectedUntil: NotRequired[str]
    missed: NotRequired[bool]
    deliveredAt: NotRequired[str]
    paused: NotRequired[bool]
    createdAt: NotRequired[str]
    job: NotRequired[dict[str, Any]]
    problem: NotRequired[str]
    next: list[str]
    last: NotRequired[Last]


class LastAttempt(TypedDict):
    number: int
    at: str
    durationMs: int
    status: NotRequired[int]
    error: NotRequired[Literal["dns", "connect", "tls", "timeout", "reset", "target_refused", "answer_too_large", "protocol", "worker", "lease_expired", "other"]]
    errorDetail: NotRequired[str]


class CallbackDocument(TypedDict):
    callback: Literal["onDelivered", "onDead", "onAttempt"]
    topic: str
    jobId: str
    outcome: Literal["delivered", "dead", "failed", "again"]
    reason: NotRequired[str]
    status: NotRequired[int]
    error: NotRequired[Literal["dns", "connect", "tls", "timeout", "reset", "target_refused", "answer_too_large", "protocol", "worker", "lease_expired", "other"]]
    errorDetail: NotRequired[str]
    attempts: int
    round: NotRequired[int]
    createdAt: NotRequired[str]
    dueAt: NotRequired[str]
    endedAt: str
    lateMs: NotRequired[int]
    durationMs: NotRequired[int]
    waitMs: NotRequired[int]
    lastAttempts: list[LastAttempt]
    result: NotRequired[Any]
    answer: NotRequired[str]
    answerBase64: NotRequired[str]
    answerTruncated: NotRequired[bool]
    labels: NotRequired[list[str]]
    key: NotRequired[str]
    priority: NotRequired[int]
    body: NotRequired[Any]
    bodyBase64: NotRequired[str]


class JobPatch(TypedDict):
    url: NotRequired[str | None]
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] | None]
    body: NotRequired[Any]
    bodyBase64: NotRequired[str | None]
    priority: NotRequired[int | None]
    labels: NotRequired[list[str] | None]
    delay: NotRequired[float | str | None]
    dueAt: NotRequired[str | None]
    timezone: NotRequired[str | None]
    ttl: NotRequired[float | str | None]
    expiresAt: NotRequired[str | None]
    retry: NotRequired[int | None]
    retrySchedule: NotRequired[list[float | str] | None]
    retryWait: NotRequired[str | None]
    timeout: NotRequired[float | str | None]
    headers: NotRequired[dict[str, Any] | None]
    onDelivered: NotRequired[str | CallbackTarget | None]
    onDead: NotRequired[str | CallbackTarget | None]
    onAttempt: NotRequired[str | CallbackTarget | None]


class JobResult(TypedDict):
    status: Literal[200, 201, 400, 403, 409, 413, 422, 429, 503, 507]
    jobId: NotRequired[str]
    topic: NotRequired[str]
    state: NotRequired[Literal["delayed", "ready", "leased", "dead"]]
    dueAt: NotRequired[str]
    throttled: NotRequired[Literal[True]]
    debounced: NotRequired[Literal[True]]
    group: NotRequired[str]
    detail: NotRequired[str]
    errors: NotRequired[list[Error]]
    maxPending: NotRequired[int]
    key: NotRequired[str]
    pending: NotRequired[int]
    retryAfter: NotRequired[int]


class Scheduled(TypedDict):
    jobId: str
    topic: str
    state: Literal["delayed"]
    dueAt: str
    attemptInFlight: NotRequired[Literal[True]]
    group: NotRequired[str]
    jobs: NotRequired[list[SentJob]]


class Placed(TypedDict):
    jobId: str
    topic: str
    state: Literal["delayed", "ready", "leased", "dead"]
    dueAt: NotRequired[str]
    throttled: NotRequired[Literal[True]]
    debounced: NotRequired[Literal[True]]
    group: NotRequired[str]
    jobs: NotRequired[list[SentJob]]


PriorityAge: TypeAlias = float | Literal["off"]


class Settings(TypedDict):
    paused: NotRequired[bool]
    pauseReason: NotRequired[str]
    maxInFlight: NotRequired[int]
    maxPending: NotRequired[int]
    rate: NotRequired[Rate]
    batch: NotRequired[Batch]
    defer: NotRequired[bool]
    events: NotRequired[bool]
    results: NotRequired[bool]
    limit: NotRequired[str]
    weight: NotRequired[int]
    order: NotRequired[Literal["due", "fifo"]]
    onHeadDead: NotRequired[Literal["go", "pause"]]
    windows: NotRequired[list[Window]]
    perKey: NotRequired[PerKey]
    priorityAge: NotRequired[float | Literal["off"]]
    retryPriority: NotRequired[int]
    delivery: NotRequired[Literal["push", "pull"]]
    retrySchedule: NotRequired[list[float]]
    timeout: NotRequired[float]
    jitter: NotRequired[float]
    url: NotRequired[str]
    headers: NotRequired[dict[str, str]]
    secrets: NotRequired[list[str]]
    signature: NotRequired[Literal["standard", "rfc9421", "both"]]
    egressProxy: NotRequired[str]
    auth: NotRequired[Auth]
    onDelivered: NotRequired[str | CallbackTarget]
    onDead: NotRequired[str | CallbackTarget]
    onAttempt: NotRequired[str | CallbackTarget]
    alerts: NotRequired[list[Alert]]
    breaker: NotRequired[bool]
    retention: NotRequired[float]


class Leases(TypedDict):
    jobs: list[LeasedJob]


class LeaseRetry(TypedDict):
    jobId: str
    token: str
    delay: NotRequired[float]
    error: NotRequired[str]


class LeaseBury(TypedDict):
    jobId: str
    token: str
    error: NotRequired[str]


class LeaseResult(TypedDict):
    status: Literal[200, 400, 401, 409, 429, 503]
    jobId: NotRequired[str]
    topic: NotRequired[str]
    state: NotRequired[Literal["delivered", "cancelled", "delayed", "ready", "leased", "dead"]]
    dueAt: NotRequired[str]
    leaseUntil: NotRequired[str]
    reason: NotRequired[str]
    detail: NotRequired[str]
    errors: NotRequired[list[Error]]


class Group(TypedDict):
    endpoints: dict[str, Endpoint]


class Workflow(TypedDict):
    topic: str
    workflowId: str
    state: Literal["active", "succeeded", "failed", "cancelled"]
    createdAt: str
    endedAt: NotRequired[str]
    url: NotRequired[str]
    labels: NotRequired[list[str]]
    elementCount: int
    openCount: int
    failedBy: NotRequired[WorkflowJob]
    parent: NotRequired[Parent]
    bytes: int
    elements: list[WorkflowElement]
    jobs: list[WorkflowOpenJob]


class PatternState(TypedDict):
    topic: str
    settings: Settings


TopicState = TypedDict(
    "TopicState",
    {
        "topic": str,
        "settings": Settings,
        "from": NotRequired[dict[str, str]],
        "jobs": NotRequired[Jobs2],
        "overdue": NotRequired[int],
        "quota": NotRequired[Quota],
        "oldestOverdueAt": NotRequired[str],
        "lastHour": NotRequired[LastHour],
        "failing": NotRequired[Failing],
        "oldestDueAt": NotRequired[str],
        "pull": NotRequired[Pull],
        "window": NotRequired[Window1],
        "heldBy": NotRequired[Literal["paused", "settings", "noUrl", "windows", "maxInFlight", "rate", "limit", "order", "batch"]],
        "heldUntil": NotRequired[str],
        "head": NotRequired[str],
    },
)


class LastAttempt1(TypedDict):
    at: str
    durationMs: int
    status: NotRequired[int]
    error: NotRequired[Literal["dns", "connect", "tls", "timeout", "reset", "target_refused", "answer_too_large", "protocol", "worker", "lease_expired", "other"]]
    errorDetail: NotRequired[str]


class Job(TypedDict):
    jobId: str
    topic: str
    state: Literal["delayed", "ready", "leased", "dead", "delivered", "cancelled"]
    dueAt: NotRequired[str]
    leaseUntil: NotRequired[str]
    createdAt: str
    expiresAt: NotRequired[str]
    deadAt: NotRequired[str]
    deliveredAt: NotRequired[str]
    cancelledAt: NotRequired[str]
    keptUntil: NotRequired[str]
    reason: NotRequired[Literal["retries_exhausted", "gone", "rejected", "target_refused", "no_url", "expired", "rounds", "consumer_lost", "unreadable", "workflow_ended", "not_a_workflow", "replaced"]]
    url: NotRequired[str]
    delay: NotRequired[float]
    retry: int
    retrySchedule: list[float]
    retryWait: NotRequired[str]
    timeout: float
    headers: dict[str, str]
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]]
    onDelivered: NotRequired[str | CallbackTarget]
    onDead: NotRequired[str | CallbackTarget]
    onAttempt: NotRequired[str | CallbackTarget]
    body: NotRequired[Any]
    bodyLeftOut: NotRequired[Literal[True]]
    bodyBase64: NotRequired[str]
    key: NotRequired[str]
    priority: int
    labels: NotRequired[list[str]]
    form: NotRequired[str]
    workflow: NotRequired[str]
    progress: NotRequired[Any]
    result: NotRequired[Any]
    attempts: int
    rounds: NotRequired[int]
    lastAttempt: NotRequired[LastAttempt1]


class Attempt(TypedDict):
    attempt: int
    round: NotRequired[int]
    at: str
    durationMs: int
    status: NotRequired[int]
    error: NotRequired[Literal["dns", "connect", "tls", "timeout", "reset", "target_refused", "answer_too_large", "protocol", "worker", "lease_expired", "other"]]
    errorDetail: NotRequired[str]
    answer: NotRequired[str]
    answerTruncated: NotRequired[bool]


class JobList(TypedDict):
    jobs: list[Job]
    source: NotRequired[Literal["history"]]
    partial: NotRequired[bool]
    cursor: NotRequired[str]


class ValidationProblem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: NotRequired[str]
    errors: list[Error]


class ListAttemptsResponse(TypedDict):
    jobId: str
    topic: str
    attempts: list[Attempt]


class ListTopicsResponse(TypedDict):
    topics: NotRequired[list[TopicState]]
    patterns: NotRequired[list[PatternState]]
    cursor: NotRequired[str]


class ReplaceSettingsResponse(TypedDict):
    topic: str
    settings: Settings


class ChangeSettingsResponse(TypedDict):
    topic: str
    settings: Settings


class ResetSettingsResponse(TypedDict):
    topic: str
    settings: Settings


class ListSchedulesResponse(TypedDict):
    schedules: list[Schedule1]
    cursor: NotRequired[str]


class ListSchedulesOfTopicResponse(TypedDict):
    schedules: list[Schedule1]
    cursor: NotRequired[str]


class SchedulePreview(TypedDict):
    now: str
    text: str
    paused: bool
    overlap: Literal["allow", "skip"]
    times: list[PreviewedTime]
    endsBy: NotRequired[Literal["endAt", "windows", "calendar"]]
    clockChanges: list[ClockChange]


Forecast = TypedDict(
    "Forecast",
    {
        "now": str,
        "from": str,
        "to": str,
        "step": int,
        "resolution": int,
        "jobs": Jobs,
        "attempts": Attempts,
        "backlog": ForecastBacklog,
        "series": Series,
        "narrow": list[ForecastLine],
        "topics": list[ForecastLine],
        "schedules": list[Schedule],
        "partial": NotRequired[Literal[True]],
    },
)


class ClockTurned(TypedDict):
    now: str
    next: NotRequired[str]
    inFlight: int
    to: NotRequired[str]
    reached: bool
    fired: list[Fired]
    more: bool
    lost: NotRequired[int]


class NewJob(TypedDict):
    topic: str
    jobId: NotRequired[str]
    url: NotRequired[str]
    group: NotRequired[str]
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]]
    body: NotRequired[Any]
    bodyBase64: NotRequired[str]
    key: NotRequired[str]
    priority: NotRequired[int]
    labels: NotRequired[list[str]]
    delay: NotRequired[float | str]
    dueAt: NotRequired[Time]
    timezone: NotRequired[str]
    throttle: NotRequired[Throttle]
    debounce: NotRequired[Debounce]
    idempotencyKey: NotRequired[str]
    ttl: NotRequired[float | str]
    expiresAt: NotRequired[Time]
    retry: NotRequired[int]
    retrySchedule: NotRequired[list[float | str]]
    retryWait: NotRequired[str]
    timeout: NotRequired[float | str]
    headers: NotRequired[dict[str, str]]
    onDelivered: NotRequired[str | CallbackTarget]
    onDead: NotRequired[str | CallbackTarget]
    onAttempt: NotRequired[str | CallbackTarget]


class JobOfSchedule(TypedDict):
    url: NotRequired[str]
    group: NotRequired[str]
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]]
    body: NotRequired[Any]
    bodyBase64: NotRequired[str]
    key: NotRequired[str]
    priority: NotRequired[int]
    labels: NotRequired[list[str]]
    ttl: NotRequired[float | str]
    retry: NotRequired[int]
    retrySchedule: NotRequired[list[float | str]]
    retryWait: NotRequired[str]
    timeout: NotRequired[float | str]
    headers: NotRequired[dict[str, str]]
    onDelivered: NotRequired[str | CallbackTarget]
    onDead: NotRequired[str | CallbackTarget]
    onAttempt: NotRequired[str | CallbackTarget]


class JobResults(TypedDict):
    results: list[JobResult]


class LeaseResultList(TypedDict):
    results: list[LeaseResult]


class NewSchedule(TypedDict):
    cron: NotRequired[str]
    every: NotRequired[float | str]
    timezone: NotRequired[str]
    startAt: NotRequired[Time]
    endAt: NotRequired[Time]
    jitter: NotRequired[float | str]
    grace: NotRequired[float | str]
    windows: NotRequired[list[Window]]
    misfire: NotRequired[Literal["one", "skip", "all"]]
    overlap: NotRequired[Literal["allow", "skip"]]
    expectBy: NotRequired[float | str]
    paused: NotRequired[bool]
    job: JobOfSchedule

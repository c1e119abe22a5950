-- keys.lua - the names of the keys of a shard, and how Redis is called.
--
-- KEYS[1] is <prefix>{<shard>}:jobs. All other names begin with <prefix>{<shard>}, too, so Redis Cluster has all keys of
-- a shard on one node.

local KEYS, ARGV -- arguments of the current call
local register_function = redis.register_function -- exists only while Redis loads the library

-- A library can use Lua's functions only when it is called, not while Redis loads it. Each look-up of such a global
-- name takes long, so the first call stores them here.
local function read_globals()
  return redis, redis.call, string, math, table, cjson, error, ipairs, next, pairs, pcall, select, tonumber, tostring, type, unpack
end
local redis, call, string, math, table, cjson, error, ipairs, next, pairs, pcall, select, tonumber, tostring, type, unpack

local base -- <prefix>{<shard>}:
local JOBS, META, DEAD, NUMBERS, NAMES
local CONSUMERS, WORKERS, HOLDERS -- the kinds of holders of leases
local TURNS, DUE, READY
local TOPICS, PATTERNS, CRASHES, ATTEMPTS, BEHIND, HELD, RESUMED, LINES, KEPT
local PULL_WAITERS, SUSPECTS, WORKFLOW_JOBS, ENDED_LAST, EXPIRIES, RARE_KEYS
local KEPT_UNTIL, DEAD_DUE, HISTORY, ENDED, ENDED_IDS, ENDED_READ
local RATES, RESUMING, RECEIVERS, REPORTED, SURVEY
local LIMITS, LIMITED, LIMITS_USED
local RANKS, LANES, KEY_SETTINGS
local IDEMPOTENCY, WINDOWS, GROUPS, GROUP_NAMES, SENDS, SENDS_UNTIL
local SCHEDULES, FIRES, SCHEDULE_NAMES, FIRED, SKIPPED, SKIPPED_UNTIL
local WORKFLOWS, WORKFLOW_TIMES, WORKFLOWS_OVER, WAITS

local REPORTED_KEPT_MS = 3600000 -- the record of a receiver is removed when it has not changed for this time

local function name_job_keys()
  JOBS = KEYS[1] -- id -> record of each job that has not ended (the pool)
  base = string.sub(JOBS, 1, -5)
  META = base .. 'meta' -- data format, number of shards, born (when the data was created, ms), positions of walks
  DEAD = base .. 'dead' -- id of a dead job -> when it died, ms
  NUMBERS = base .. 'numbers' -- 'waiting' -> number of ids in all buckets; 'held' -> number of held jobs; and others
  NAMES = base .. 'names' -- topics, see names.lua

  -- Consumers and workers hold leases, see leases.lua. Each kind has two keys: leases, id -> deadline of the lease, ms,
  -- and lingering, the attempts of cancelled jobs, see lingering.lua. longest_ms: the longest lease that a worker can
  -- request. The leases of consumers all have the same length, which C knows.
  CONSUMERS = {leases = base .. 'leases', lingering = base .. 'lingering'}
  WORKERS = {leases = base .. 'pulled', lingering = base .. 'pull_lingering', longest_ms = 43200000}
  HOLDERS = {CONSUMERS, WORKERS}

  TURNS = base .. 'turns' -- topics that may be served now, see turns.lua
  DUE = base .. 'due' -- other topics with waiting jobs, see turns.lua
  READY = base .. 'ready' -- the doorbell, on which idle consumers wait (BLPOP), see turns.lua

  -- Keys that many installations never have, see has() in base.lua.
  TOPICS = base .. 'topics' -- topic -> settings
  PATTERNS = base .. 'patterns' -- pattern -> settings, see settings.lua
  CRASHES = base .. 'crashes' -- id -> how often its consumer was lost, and the last nonce
  ATTEMPTS = base .. 'attempts' -- id -> one line for each of its last attempts, see attempt_line.h
  BEHIND = base .. 'behind' -- topics with due jobs that may not be served now, see turns.lua
  HELD = base .. 'held' -- topics with held jobs, see holds.lua
  RESUMED = base .. 'resumed' -- topic -> when its jobs were last resumed, see holds.lua
  LINES = base .. 'lines' -- fifo topic -> when its first job may be attempted again, see fifo.lua
  KEPT = base .. 'kept' -- id of a job that has ended -> its data, see ended.lua
  PULL_WAITERS = base .. 'pull_waiters' -- pull topics for which workers wait, see turns.lua
  SUSPECTS = base .. 'suspects' -- jobs that may end their consumers, see suspects.lua
  WORKFLOW_JOBS = base .. 'workflow_jobs' -- id of a job -> its workflow and role, see workflows.lua
  ENDED_LAST = base .. 'ended_last' -- id -> the field of ENDED with its latest text, if this field is not the id itself
  EXPIRIES = base .. 'expiries' -- id -> when the job expires, see expiries.lua
  LIMITS = base .. 'limits' -- name of a limit that topics share -> settings, see limits.lua
  LIMITED = base .. 'limited' -- topic -> number of its attempts that count for a limit, and the limit
  LANES = base .. 'lanes' -- topics whose jobs have keys or priorities, see lanes.lua
  -- These two exist only while LANES exists.
  RANKS = base .. 'ranks' -- id -> priority and key of the job, see ranks.lua
  KEY_SETTINGS = base .. 'key_settings' -- topic, newline, key -> settings of this key, as JSON text
  RARE_KEYS = {base .. 'never', TOPICS, PATTERNS, CRASHES, ATTEMPTS, BEHIND, HELD, RESUMED, CONSUMERS.lingering, LINES, KEPT,
    WORKERS.leases, WORKERS.lingering, PULL_WAITERS, SUSPECTS, WORKFLOW_JOBS, ENDED_LAST, EXPIRIES, LIMITS, LIMITED, LANES,
    base .. 'progress', base .. 'waited', base .. 'stream_readers', base .. 'expected'} -- lib/waited.lua, lib/stream.lua, lib/expected.lua
end

local function name_other_keys()
  KEPT_UNTIL = base .. 'kept_until' -- id of a delivered or cancelled job -> until when it is kept, ms
  DEAD_DUE = base .. 'dead_due' -- topic -> when its oldest dead job is removed, see date_dead in ended.lua
  HISTORY = base .. 'history' -- HASH with the fields backlog and bodies, see outbox.lua; it exists while a history is on
  ENDED = base .. 'ended' -- id, or 'id\nb<number>' -> text as in KEPT, see ended.lua
  ENDED_IDS = base .. 'ended_ids' -- LIST: fields of ENDED that the archiver has not read, oldest first
  ENDED_READ = base .. 'ended_read' -- LIST: fields of ENDED that the archiver has read

  LIMITS_USED = base .. 'limits_used' -- name of a limit -> number of attempts in flight that count for it
  RATES = base .. 'rates' -- topic -> time in us up to which its tokens are spent, see rates.lua
  RESUMING = base .. 'resuming' -- topics whose held jobs are resumed, see resuming.lua
  -- Records of receivers (servers that jobs are POSTed to) have the states of their circuit breakers and limits.
  RECEIVERS = base .. 'receivers' -- name of a receiver -> its record; 'version' -> version of the last record written
  REPORTED = base .. 'reported' -- name of a receiver -> version of its record
  -- The last result of the script survey.lua, a hash with the fields due (number of due jobs), oldest (due time of the
  -- first of them, ms) and at (time of the result, ms).
  SURVEY = base .. 'survey'

  IDEMPOTENCY = base .. 'idempotency' -- idempotency key -> its answer, see idempotency.lua
  WINDOWS = base .. 'windows' -- idempotency key -> when its answer expires, ms
  GROUPS = base .. 'groups' -- name of a group -> text, see group.h; the name decides in which shard the group is
  GROUP_NAMES = base .. 'group_names' -- the names in alphabetical order, to list them page by page; all scores are 0
  -- topic/jobId -> 'mark group endpoint endpoint ... @time'. mark is explained in send.lua. time is createdAt of the
  -- jobs, in ms. Versions before 0.3 wrote no time; then each job whose id is made of the send's id and an endpoint
  -- counts as a job of the send.
  SENDS = base .. 'sends'
  SENDS_UNTIL = base .. 'sends_until' -- topic/jobId -> when the entry is examined next, ms

  SCHEDULES = base .. 'schedules' -- id -> definition, see recurring.h
  -- id -> time of the next occurrence, ms; if this occurrence waits because it cannot be fired yet, the end of the wait
  FIRES = base .. 'fires'
  SCHEDULE_NAMES = base .. 'schedule_names' -- the ids in alphabetical order; all scores are 0
  FIRED = base .. 'fired' -- id -> how its last time ended, see schedules.lua
  SKIPPED = base .. 'skipped' -- id -> see recurrence.h
  -- id -> time, ms. If the clock is before this time, the schedule's next time must be computed again.
  SKIPPED_UNTIL = base .. 'skipped_until'

  WORKFLOWS = base .. 'workflows' -- owner/workflowId -> when the last workflow with this id was created, ms
  WORKFLOW_TIMES = base .. 'workflow_times' -- place of a workflow -> when it was created, ms
  WORKFLOWS_OVER = base .. 'workflows_over' -- place of a workflow that has ended -> when it ended, ms
  WAITS = base .. 'waits' -- id of a wait's job -> text, see events.lua
end

-- The waiting jobs of a topic, each with its place, see places.lua.
local function bucket_of(topic) return base .. 'bucket:' .. topic end

-- The waiting jobs of a lane with this priority and key, its rank: id -> score, as in the bucket, see lanes.lua.
local function lane_of(topic, rank) return base .. 'lane:' .. topic .. '\n' .. rank end

-- The jobs of a topic in flight: id -> nonce of the lease, and due time.
local function holders_of(topic) return base .. 'holders:' .. topic end

-- The jobs of a topic in a state in which they have ended: id -> when the job got this state, ms.
local function index_of(state, topic) return base .. state .. ':' .. topic end

-- Sends a message to all duepost processes. pcall ignores an error, for example of an ACL that denies PUBLISH. The
-- message is then lost, and the other processes find the change at their next tick. If the error ended a script that
-- has already written, the caller would assume that nothing has changed.
local function publish(text) redis.pcall('PUBLISH', base .. 'wake', text) end

-- Begins a call. The names are the same as in the call before if both are for the same shard.
local function begin_keys(keys, arguments)
  KEYS, ARGV = keys, arguments
  if JOBS == KEYS[1] then return end
  redis, call, string, math, table, cjson, error, ipairs, next, pairs, pcall, select, tonumber, tostring, type, unpack = read_globals()
  name_job_keys()
  name_other_keys()
end

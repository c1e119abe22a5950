-- schedule.lua - schedules new jobs. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit   [3] time that an idempotency key is kept, ms
-- then for each job:
--   id
--   when    ms from now, or '@' and the due time
--   record  without '{"createdAt":<ms>,', which the script adds, because the time is Redis's (records.lua); or empty if the pool
--           already has the same job: in this case, nothing is scheduled; the answer is stored under the key of once,
--           with the time in when
--   once    '-', or the request's fingerprint, a space, and its idempotency key: the first answer is kept
--           under this key and returned again. With throttle, a line 'throttle <ms> <key>' follows
-- Returns {now_us, result ...}. A result is a due time, FULL, NO_URL, EXPIRED, or that of Quotas.refusal. If a job has the id, the result is
-- {state, due, record} of this job, or AGAIN. If an earlier call has used the idempotency key, the result is
-- {'repeated', due, id} of that call's answer, or REUSED if it had other content. If another job stands for this one, or
-- stood for it in the earlier call, the result is {'throttled', due, id} of it (lib/idempotency.lua).

local room, scheduled
local has_quotas -- whether a quota may refuse a job of this call

-- Returns the index in ARGV of the first item whose id may already belong to a job. Each query checks several ids, and
-- also reads the records of the jobs that it finds. To read few records, the search ends at the first query that
-- finds a job; the caller checks the items from there on one by one.
local LOOK_AT_ONCE = 16
local function first_taken()
  local ids = {}
  for i = 4, #ARGV, 4 do
    ids[#ids + 1] = ARGV[i]
    if #ids == LOOK_AT_ONCE or i + 4 > #ARGV then
      local found = call('HMGET', JOBS, unpack(ids))
      for k = 1, #ids do
        if found[k] then return i - 4 * (#ids - k) end
      end
      ids = {}
    end
  end
  return #ARGV + 1
end

local new -- id, record, id, record ... written at the end

-- Returns why a job is refused if its id is free, or nothing.
local function refusal(id, at, created, record)
  return Records.lacks_url(id, record) and RESULT.NO_URL or Records.would_expire(created, record, at) and RESULT.EXPIRED
    or has_quotas and Quotas.refusal(topic_of(id), 1, record) or nil
end

local function add_free(id, when, record)
  local at, created = Records.due_of(when)
  local refused = refusal(id, at, created, record)
  if refused then return refused end
  local number, text, expires = #new, Records.complete(created, record)
  new[number + 1], new[number + 2] = id, text
  Expiries.note(id, expires)
  Lanes.note_new(id, record)
  Stream.add(topic_of(id), id, 'accepted')
  room = room - 1
  if has_quotas then Quotas.take(topic_of(id), 1, record) end
  return Places.put_new(id, at)
end

local function add(id, when, record)
  local at, created = Records.due_of(when)
  local refused, text, expires = refusal(id, at, created, record), Records.complete(created, record)
  if refused and call('HEXISTS', JOBS, id) == 0 then return refused end
  if refused or call('HSETNX', JOBS, id, text) == 0 then return Leases.existing(id, scheduled[id]) end
  Expiries.note(id, expires)
  Lanes.note_new(id, record)
  Stream.add(topic_of(id), id, 'accepted')
  room = room - 1
  if has_quotas then Quotas.take(topic_of(id), 1, record) end
  scheduled[id] = Places.put_new(id, at)
  return scheduled[id]
end

local function schedule(id, when, record, once)
  local first, per, key = string.match(once, '^([^\n]*)\nthrottle (%d+) (.+)$')
  if key then once = first end
  local answer = once ~= '-' and Idempotency.answer(once)
  if answer then return answer end
  if record == '' then
    local at = tonumber(string.sub(when, 2))
    Idempotency.keep(once, id, at, tonumber(ARGV[3]))
    return at
  end
  local due, standing
  if key then due, standing = Idempotency.standing(key) end
  if standing then
    if once ~= '-' then Idempotency.keep(once, standing, due, tonumber(ARGV[3]), true) end
    return {'throttled', due, standing}
  end
  if room < 1 and call('HEXISTS', JOBS, id) == 0 then return RESULT.FULL end
  local result = add(id, when, record)
  local is_new = type(result) == 'number' and result > 0
  if once ~= '-' and is_new then Idempotency.keep(once, id, result, tonumber(ARGV[3])) end
  if key and is_new then Idempotency.stand('throttle', key, result, id, tonumber(per)) end
  return result
end

script('schedule', {}, {Expiries, Idempotency, Lanes, Leases, Places, Quotas, Records, Stream}, function()
  check(4, 4, 2)
  local max_jobs = tonumber(ARGV[2])
  room = max_jobs > 0 and max_jobs - Expiries.jobs_below(max_jobs) or math.huge
  local replies = {now_us}
  scheduled = {}
  local free_before = (has_repeats or #ARGV == 7) and 4 or first_taken()
  new = {}
  local topics, is_known, last = {}, {}, nil
  for i = 4, #ARGV, 4 do
    local topic = topics_of[ARGV[i]]
    if topic ~= last and not is_known[topic] then topics[#topics + 1] = topic end
    last, is_known[topic] = topic, true
  end
  Places.look_at_buckets(topics)
  has_quotas = Quotas.look(topics)
  for i = 4, #ARGV, 4 do
    local is_free = i < free_before and room >= 1 and ARGV[i + 3] == '-'
    replies[i / 4 + 1] = is_free and add_free(ARGV[i], ARGV[i + 1], ARGV[i + 2])
      or schedule(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
  end
  if #new > 0 then call('HSET', JOBS, unpack(new)) end
  Places.finish()
  return replies
end)

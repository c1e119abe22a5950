-- list.lua - returns a page of the jobs in one state, in the order of their times, then of their ids. Leased
-- jobs are in the order of their ids.
--
-- ARGV[2] state   [3] topic, may be empty except for delivered and cancelled   [4] maximum number of jobs
-- ARGV[5] [6] score and id of the last job of the previous page, or two empty texts
-- ARGV[7] maximum number of entries to examine   [8] maximum bytes of settings and of records that are
--      returned or only examined; the first record may be longer
-- ARGV[9] [10] only jobs whose time is not before the first and is before the second value, ms; may be -inf
--      and +inf
-- ARGV[11] only jobs whose url has this host, in lower case, with or without its port; may be empty
-- ARGV[12] kind of result: 'jobs', 'seen' or 'count'
-- ARGV[13] start time of the walk, ms, rounded up; 0 if the walk begins with this page. Ready jobs that became due
--      after this time, dead jobs that died after it, and jobs in other states that were created after it are left out
-- ARGV[14] names to examine, one per line: for leased jobs their ids, see leased.lua; for delayed or ready jobs of
--      all topics, and for other jobs of an owner ([23]), names of topics, see heads.lua
-- ARGV[15] only jobs whose jobId has this prefix   [16] only jobs that died for one of these reasons   [17] only
--      jobs whose last attempt had one of these statuses, or a status with this first digit: 503,4xx. All
--      three may be empty
-- ARGV[18] 'oldest' or 'newest' first
-- ARGV[19] [20] score and id of the job at which the page ends, for several topics; or two empty texts
-- ARGV[21] only jobs with all of these labels, which are separated by newlines; may be empty
-- ARGV[22] empty, or 'unbegun': leaves out waiting jobs that have become due, or whose last attempt has begun, since
--      the start of the walk
-- ARGV[23] without topic: only jobs of this topic and its siblings; may be empty
-- ARGV[24] only jobs with this key, a JSON string with its quotes as in a head; '""': only jobs without a key; empty: any
--      key
-- Returns {now_us, score and id of the last entry examined (or '', '' at the end), number of jobs found, then
-- the jobs}. Each job of 'jobs' has id, score, record, lost consumers, settings of its topic or '', time
-- until which it is kept or 0, and line of its last attempt or '' if it has ended. Each job of 'seen' has id
-- and tag. 'count' has no jobs.

local state, topic, most, look, bytes_left, host, tell, began, prefix, reasons, statuses, labels, lane -- arguments
local has_ended, key, is_newest_first
local low, high -- limits of the scores
local from, to -- ranks of the entries to visit in key

local function is_one_of(words, word) return string.find(',' .. words .. ',', ',' .. word .. ',', 1, true) ~= nil end

-- Returns the members of a record without its body, or nothing if it is not a JSON object. Decoding a text takes longer
-- than returning it, so each byte of a decoded text counts as several against the limit of bytes.
local function decode(record)
  local _, _, size = Records.head(record)
  bytes_left = bytes_left - 3 * (tonumber(size) or #record)
  return Records.members(record)
end

-- Returns whether the job ended with one of the requested reasons and statuses. The C code has written reason and
-- status into the record, or into the line of text about the last attempt.
local function ended_so(record, lines)
  if reasons == '' and statuses == '' then return true end
  local job = decode(record)
  if not job then return false end
  if reasons ~= '' and not is_one_of(reasons, tostring(job.reason or 'consumer_lost')) then return false end
  local status = lines and string.match(Ended.last_line(lines), '^%S+ %d+ %d+ (%S+)')
  status = status or type(job.lastAttempt) == 'table' and tostring(job.lastAttempt.status) or ''
  return statuses == '' or is_one_of(statuses, status) or is_one_of(statuses, string.sub(status, 1, 1) .. 'xx')
end

-- Returns whether the job has all labels.
local wanted
local function has_labels(record)
  local job = Records.may_have(record, 'l') and decode(record)
  if not job or type(job.labels) ~= 'table' then return false end
  local its = {}
  for _, label in ipairs(job.labels) do its[label] = true end
  for i = 1, #wanted do
    if not its[wanted[i]] then return false end
  end
  return true
end

-- Returns the url of a job, or '' if the job has none.
local function url_of(record)
  local job = decode(record)
  return job and type(job.url) == 'string' and job.url or ''
end

-- Returns whether a waiting job became due, or was last attempted, after the walk began. An action on many jobs walks
-- through the list. The action may have made this job due before, and the job may now wait for a retry, or be held.
-- The action must not find the job again.
local leaves_begun
local function has_begun(id, record)
  local due = Holds.dues(topic_of(id), {id})[1]
  if due and tonumber(due) + 1 >= began then return true end
  local job = Records.may_have(record, 'a') and decode(record)
  local last = job and job.lastAttempt
  return type(last) == 'table' and (tonumber(last.at) or 0) + 1 >= began
end

-- Returns whether the job has the key. In a head, a quote without a backslash follows the key. An old record has no key.
local function has_key(record)
  local _, _, _, at = Records.head(record)
  return lane == '""' and not at or at and string.sub(record, at, at + #lane - 2) == string.sub(lane, 2)
end

local function passes(id, record, lines)
  if began > 0 and (Records.created(record) or 0) > began then return false end
  if leaves_begun and has_begun(id, record) then return false end
  if lane ~= '' and not has_key(record) then return false end
  if not ended_so(record, lines) then return false end
  if labels ~= '' and not has_labels(record) then return false end
  if host == '' then return true end
  local url = url_of(record)
  if url == '' then url = settings_of(topic_of(id)).url or '' end
  local there = string.match(url, '^%a+://([^/?#]*)')
  there = there and string.lower(there)
  return there == host or there and string.sub(there, 1, #host + 1) == host .. ':'
end

local replies, found
local function add(id, score, record, losses, lines)
  found = found + 1
  if tell == 'count' then return end
  replies[#replies + 1] = id
  if tell == 'seen' then
    replies[#replies + 1] = Tags.text(state, tonumber(score), record)
    return
  end
  local settings_text = serving_text_of(topic_of(id))
  bytes_left = bytes_left - #settings_text
  replies[#replies + 1] = tonumber(score)
  replies[#replies + 1] = record
  replies[#replies + 1] = losses or Attempts.losses(id)
  replies[#replies + 1] = settings_text
  replies[#replies + 1] = lines and Ended.kept_until(id, state, score) or 0
  replies[#replies + 1] = lines and Ended.last_line(lines) or ''
end

-- Adds the job with this entry if it belongs to the result. The job's record is read only if the filters need it, and then
-- counts against the limit of bytes of the call. leaves_expired: waiting jobs may have expired that expire.lua has not
-- ended yet; such jobs are left out.
local leaves_expired, needs_record
local function look_at(id, score)
  if topic ~= '' and topic_of(id) ~= topic then return end
  if prefix ~= '' and string.sub(id, #topic_of(id) + 2, #topic_of(id) + 1 + #prefix) ~= prefix then return end
  if not needs_record then return add(id, score) end
  local record, losses, lines, its_state, _
  if has_ended then
    its_state, _, losses, record, lines = Ended.read(id)
    if its_state ~= state then return end
  else
    record = call('HGET', JOBS, id)
  end
  if record then bytes_left = bytes_left - #record end
  if record and leaves_expired and Records.is_expired(record) then return end
  if record and passes(id, record, lines) then add(id, score, record, losses, lines) end
end

-- Adds an entry to the page if the filters accept it. Returns whether the page ends after this entry.
local function visit(id, score)
  replies[2], replies[3] = score, id
  look_at(id, score)
  return found == most or bytes_left <= 0
end

-- Visits entries one after the other. Returns whether all entries were visited.
local PAGE = 100
local function visit_range()
  while from <= to and look > 0 do
    local count = math.min(PAGE, look, to - from + 1)
    local first = is_newest_first and call('ZCARD', key) - 1 - to or from
    local entries = is_newest_first and call('ZRANGE', key, first, first + count - 1, 'REV', 'WITHSCORES')
      or call('ZRANGE', key, first, first + count - 1, 'WITHSCORES')
    for i = 1, #entries, 2 do
      look = look - 1
      if is_newest_first then to = to - 1 else from = from + 1 end
      if visit(entries[i], entries[i + 1]) then return from > to end
    end
  end
  return from > to
end

local function visit_leased(ids)
  local last = string.match(ids, '[^\n]*$')
  for id in string.gmatch(ids, '[^\n]+') do
    local score = Leases.deadline(id)
    if score and visit(id, score) then return id == last end
  end
  return true
end

-- To merge the jobs of several topics into one list, there is one lane for each topic. A lane has the next jobs of the
-- topic; its fields score and id are those of the first of them.
local CHUNK_MAX = 64
local function lane_refill(lane, score, id)
  lane.entries = Lists.entries_behind(state, lane.topic, low, high, score, id, lane.chunk, is_newest_first)
  lane.at, lane.chunk = 1, math.min(CHUNK_MAX, lane.chunk * 4)
  lane.id, lane.score = lane.entries[1], tonumber(lane.entries[2])
  return lane.id
end

-- Moves a lane to its next job. Returns nothing if the topic has no further job.
local function lane_advance(lane)
  local id, score = lane.id, lane.entries[lane.at + 1]
  lane.at = lane.at + 2
  lane.id, lane.score = lane.entries[lane.at], tonumber(lane.entries[lane.at + 1])
  return lane.id or lane_refill(lane, score, id)
end

local function is_before(lane, other) return Lists.stands_before(lane.score, lane.id, other.score, other.id, is_newest_first) end

-- The lanes form a heap: the job of the first lane comes next in the list.
local function heap_add(lanes, lane)
  local at = #lanes + 1
  while at > 1 and is_before(lane, lanes[math.floor(at / 2)]) do
    lanes[at] = lanes[math.floor(at / 2)]
    at = math.floor(at / 2)
  end
  lanes[at] = lane
end

-- Replaces the first lane of the heap with this one.
local function heap_replace_first(lanes, lane)
  local at, size = 1, #lanes
  while 2 * at <= size do
    local below = 2 * at
    if below < size and is_before(lanes[below + 1], lanes[below]) then below = below + 1 end
    if is_before(lane, lanes[below]) then break end
    lanes[at] = lanes[below]
    at = below
  end
  lanes[at] = lane
end

local function heap_of(names)
  local lanes = {}
  for name in string.gmatch(names, '[^\n]+') do
    local lane = {topic = name, chunk = 1}
    if lane_refill(lane, ARGV[5], ARGV[6]) then heap_add(lanes, lane) end
  end
  return lanes
end

-- Visits the jobs of several topics in one order, up to the job with end_score and end_id. The page must end there,
-- because the next job may belong to a topic that is not in names.
local function visit_topics(names, end_score, end_id)
  local lanes = heap_of(names)
  while lanes[1] and look > 0 do
    local lane = lanes[1]
    if end_id ~= '' and Lists.stands_before(tonumber(end_score), end_id, lane.score, lane.id, is_newest_first) then break end
    look = look - 1
    if visit(lane.id, lane.entries[lane.at + 1]) then return false end
    if lane_advance(lane) then
      heap_replace_first(lanes, lane)
    else
      local last = table.remove(lanes)
      if lanes[1] then heap_replace_first(lanes, last) end
    end
  end
  if look > 0 and end_id ~= '' then
    replies[2], replies[3] = end_score, end_id
    return false
  end
  return look > 0
end

script('list', {'no-writes'}, {Attempts, Ended, Holds, Leases, Lists, Records, Tags}, function()
  state, topic, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
  look, bytes_left = tonumber(ARGV[7]), tonumber(ARGV[8])
  host, tell, began = ARGV[11], ARGV[12], tonumber(ARGV[13])
  prefix, reasons, statuses, labels = ARGV[15], ARGV[16], ARGV[17], ARGV[21] or ''
  local owner = ARGV[23] or ''
  lane = ARGV[24] or ''
  has_ended = state == 'dead' or state == 'delivered' or state == 'cancelled'
  key = bucket_of(topic)
  if has_ended then key = topic == '' and DEAD or index_of(state, topic) end
  is_newest_first = ARGV[18] == 'newest'
  low, high = Lists.bounds_of(state, ARGV[9], ARGV[10], began)
  from = low > -math.huge and call('ZCOUNT', key, '-inf', '(' .. Lists.from_text(low)) or 0
  to = call('ZCOUNT', key, '-inf', Lists.below_text(high)) - 1
  if ARGV[5] ~= '' and state ~= 'leased' then
    local rank = Lists.rank_of(key, ARGV[5], ARGV[6], not is_newest_first)
    if is_newest_first then to = math.min(to, rank - 1) else from = math.max(from, rank) end
  end
  wanted = {}
  for label in string.gmatch(labels, '[^\n]+') do wanted[#wanted + 1] = label end
  leaves_begun = ARGV[22] == 'unbegun' and began > 0 and not has_ended
  replies, found = {now_us, '', '', 0}, 0
  leaves_expired = not has_ended and state ~= 'leased' and has(EXPIRIES) and call('ZCOUNT', EXPIRIES, '-inf', now) > 0
  local reads_record = host ~= '' or reasons ~= '' or statuses ~= '' or labels ~= '' or lane ~= '' or leaves_expired
  needs_record = tell ~= 'count' or reads_record
  -- If there are no filters, every entry belongs to the result. The entries are then counted without examining them.
  local is_plain = not reads_record and prefix == '' and owner == '' and (state ~= 'leased' or topic == '')
  local is_whole
  if tell == 'count' and is_plain then
    found, is_whole = math.max(0, to - from + 1), true
    if state == 'leased' then found = Leases.number(Lists.from_text(low), Lists.below_text(high)) end
  elseif state == 'leased' then
    is_whole = visit_leased(ARGV[14])
  elseif topic == '' and (owner ~= '' or not has_ended) then
    is_whole = visit_topics(ARGV[14], ARGV[19], ARGV[20])
  else
    is_whole = visit_range()
  end
  replies[4] = found
  if is_whole then replies[2], replies[3] = '', '' end
  return replies
end)

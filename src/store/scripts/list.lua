#!lua flags=no-writes
-- list.lua - a page of the jobs in one state, or of those that have ended so and are kept, in the order of their times,
-- then of their ids; leased ones in that of their ids.
--
-- ARGV[2] state   [3] topic, may be empty for leased and dead   [4] the most jobs
-- ARGV[5] [6] score and id of the last job of the page before, or two empty texts
-- ARGV[7] the most entries to look at   [8] the most bytes of records, told or only looked at, and settings; the first
--      record may be longer
-- ARGV[9] [10] only jobs whose time is not before and is before these, ms; may be -inf and +inf
-- ARGV[11] only jobs whose url has this host, in lower case, with or without its port; may be empty
-- ARGV[12] what to tell: 'jobs', 'seen' or 'count'
-- ARGV[13] when the walk began, ms, or 0: it begins. What came later is not told: jobs that died or became ready since,
--      and of the others jobs that were created since
-- ARGV[14] leased jobs to look at, an id a line; see leased.lua
-- ARGV[15] only jobs whose jobId begins so   [16] only jobs that died of one of these reasons   [17] only jobs whose last
--      attempt had one of these statuses, or begins with their first digit: 503,4xx; all three may be empty
-- Returns {now_us, score, id of the last entry looked at or '', '' at the end, how many were found, then for each job:
-- id, score, record, lost consumers, settings of its topic or '', until when it is kept or 0, line of its last attempt or
-- '' when it has ended; or id, tag; or nothing}.
-- uses: clock crashes due kept order tag_text until
local state, topic, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
local look, bytes_left = tonumber(ARGV[7]), tonumber(ARGV[8])
local after, before, host, tell, began = ARGV[9], ARGV[10], ARGV[11], ARGV[12], tonumber(ARGV[13])
local prefix, reasons, statuses = ARGV[15], ARGV[16], ARGV[17]
local has_ended = state == 'dead' or state == 'delivered' or state == 'cancelled'
local key = bucket_of(topic)
if state == 'leased' then key = LEASES end
if has_ended then key = topic == '' and DEAD or index_of(state, topic) end

-- How many entries of key come before, or are, (score, id): the rank to go on from. The entry itself
-- may be gone, so its place is found by halving.
local function rank_after(score, id)
  local low = call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if precedes(id, call('ZRANGE', key, middle, middle)[1]) then high = middle else low = middle + 1 end
  end
  return low
end

-- A job is ready when its time has come, delayed until then: two parts of one bucket.
local from, to = 0, call('ZCARD', key) - 1
if state == 'delayed' then from = call('ZCOUNT', key, '-inf', DUE_NOW) end
if state == 'ready' then to = call('ZCOUNT', key, '-inf', DUE_NOW) - 1 end
if after ~= '-inf' then from = math.max(from, call('ZCOUNT', key, '-inf', '(' .. after)) end
if before ~= '+inf' then to = math.min(to, call('ZCOUNT', key, '-inf', '(' .. before) - 1) end
if began > 0 and (has_ended or state == 'ready') then to = math.min(to, call('ZCOUNT', key, '-inf', '(' .. integer(began + 1)) - 1) end
if ARGV[5] ~= '' and state ~= 'leased' then from = math.max(from, rank_after(ARGV[5], ARGV[6])) end

local function is_one_of(words, word) return string.find(',' .. words .. ',', ',' .. word .. ',', 1, true) ~= nil end

-- By what C wrote into the record, or into the line of the last attempt, where the job has ended. To decode a record takes
-- longer than to pass it on, so its bytes count more.
local function ended_so(record, lines)
  if reasons == '' and statuses == '' then return true end
  bytes_left = bytes_left - 3 * #record
  local is_sound, job = pcall(cjson.decode, record)
  if not is_sound or type(job) ~= 'table' then return false end
  if reasons ~= '' and not is_one_of(reasons, tostring(job.reason or 'consumer_lost')) then return false end
  local status = lines and string.match(last_line(lines), '^%d+ %d+ %d+ (%S+)')
  status = status or type(job.lastAttempt) == 'table' and tostring(job.lastAttempt.status) or ''
  return statuses == '' or is_one_of(statuses, status) or is_one_of(statuses, string.sub(status, 1, 1) .. 'xx')
end

-- The record begins as schedule.lua and job_write.c made it.
local function passes(id, record, lines)
  local created, url = string.match(record, '^{"createdAt":(%d+),"url":"([^"]*)')
  if began > 0 and created and tonumber(created) > began then return false end
  if not ended_so(record, lines) then return false end
  if host == '' then return true end
  url = url or ''
  if url == '' then url = settings_of(topic_of(id)).url or '' end
  local there = string.match(url, '^%a+://([^/?#]*)')
  there = there and string.lower(there)
  return there == host or there and string.sub(there, 1, #host + 1) == host .. ':'
end

local replies, found = {now_us, '', '', 0}, 0
local function add(id, score, record, losses, lines)
  found = found + 1
  if tell == 'count' then return end
  replies[#replies + 1] = id
  if tell == 'seen' then
    replies[#replies + 1] = tag_text(state, tonumber(score), record)
    return
  end
  local settings_text = settings_text_of(topic_of(id))
  bytes_left = bytes_left - #settings_text
  replies[#replies + 1] = tonumber(score)
  replies[#replies + 1] = record
  replies[#replies + 1] = losses or losses_of(id)
  replies[#replies + 1] = settings_text
  replies[#replies + 1] = lines and kept_until(id, state, score) or 0
  replies[#replies + 1] = lines and last_line(lines) or ''
end

-- Whether the entry is told; records are read only where they are needed, and each that is read counts.
local reads_record = host ~= '' or reasons ~= '' or statuses ~= ''
local needs_record = tell ~= 'count' or reads_record
local function look_at(id, score)
  if topic ~= '' and topic_of(id) ~= topic then return end
  if prefix ~= '' and string.sub(id, #topic_of(id) + 2, #topic_of(id) + 1 + #prefix) ~= prefix then return end
  if not needs_record then return add(id, score) end
  local record, losses, lines, its_state, _
  if has_ended then
    its_state, _, losses, record, lines = kept_job(id)
    if its_state ~= state then return end
  else
    record = call('HGET', JOBS, id)
  end
  if record then bytes_left = bytes_left - #record end
  if record and passes(id, record, lines) then add(id, score, record, losses, lines) end
end

-- Whether the page ends behind this entry.
local function visit(id, score)
  replies[2], replies[3] = score, id
  look_at(id, score)
  return found == most or bytes_left <= 0
end

-- Whether all of them were visited.
local PAGE = 100
local function visit_range()
  while from <= to and look > 0 do
    local entries = call('ZRANGE', key, from, math.min(to, from + math.min(PAGE, look) - 1), 'WITHSCORES')
    for i = 1, #entries, 2 do
      from, look = from + 1, look - 1
      if visit(entries[i], entries[i + 1]) then return from > to end
    end
  end
  return from > to
end

local function visit_leased(ids)
  local last = string.match(ids, '[^\n]*$')
  for id in string.gmatch(ids, '[^\n]+') do
    local score = call('ZSCORE', LEASES, id)
    if score and visit(id, score) then return id == last end
  end
  return true
end

-- Where each entry counts there is no need to look at them.
local is_plain = not reads_record and prefix == '' and (state ~= 'leased' or topic == '')
local is_whole
if tell == 'count' and is_plain then
  found, is_whole = math.max(0, to - from + 1), true
elseif state == 'leased' then
  is_whole = visit_leased(ARGV[14])
else
  is_whole = visit_range()
end
replies[4] = found
if is_whole then replies[2], replies[3] = '', '' end
return replies

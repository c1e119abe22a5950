-- schedule_all.lua - schedules lists of new jobs: all new jobs of a list, or none. The flag allow-oom is not set, so a
-- full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit   [3] time that an idempotency key is kept, ms
-- then for each list: the number of its jobs, and for each job:
--   id, when, record, once: see schedule.lua; each job has a url, or its topic has one
-- Returns {now_us, result ...}. A result is a list with a due time for each new job, and {'repeated', due, id} for each
-- job whose idempotency key an earlier call has used. If nothing of the list was scheduled, the result is FULL; TAKEN
-- if an id belongs to a job, or if an id or a key is twice in the list; REUSED if a key belongs to another request; or
-- that of Quotas.refusal.

local room

-- Checks a list before anything is written. Returns the answers to earlier requests (index of a job in ARGV -> answer)
-- and the numbers of new jobs, of all topics, by topic, and by lane whose key has a quota. If the list is refused, returns
-- nil and the result.
local function look(first, last)
  local answers, number, numbers, lanes, is_new = {}, 0, {}, {}, {}
  for i = first, last, 4 do
    local id, once = ARGV[i], ARGV[i + 3]
    local answer = once ~= '-' and Idempotency.answer(once)
    if answer == RESULT.REUSED then return nil, answer end
    if answer then
      answers[i] = answer
    else
      local is_taken = is_new[id] or once ~= '-' and is_new[once]
      if is_taken or call('HEXISTS', JOBS, id) == 1 then return nil, RESULT.TAKEN end
      is_new[id], is_new[once], number = true, true, number + 1
      numbers[topic_of(id)] = (numbers[topic_of(id)] or 0) + 1
      local lane = Quotas.lane_of_new(topic_of(id), ARGV[i + 2])
      if lane then
        lanes[lane] = lanes[lane] or {topic = topic_of(id), record = ARGV[i + 2], number = 0}
        lanes[lane].number = lanes[lane].number + 1
      end
    end
  end
  return answers, number, numbers, lanes
end

local function add(id, when, record, once)
  local due, created = Records.due_of(when)
  local text, expires = Records.complete(created, record)
  call('HSET', JOBS, id, text)
  Expiries.note(id, expires)
  Lanes.note_new(id, record)
  Stream.add(topic_of(id), id, 'accepted')
  local placed_at = Places.put_new(id, due)
  if once ~= '-' then Idempotency.keep(once, id, placed_at, tonumber(ARGV[3])) end
  return placed_at
end

local function schedule_all(at)
  local first, last = at + 1, at + 4 * tonumber(ARGV[at])
  local answers, number, numbers, lanes = look(first, last)
  if not answers then return number end
  if number > room then return RESULT.FULL end
  for i = first, last, 4 do
    local refused = Quotas.refusal(topic_of(ARGV[i]), numbers[topic_of(ARGV[i])] or 0)
    if refused then return refused end
  end
  for _, lane in pairs(lanes) do
    local refused = Quotas.refusal_of_key(lane.topic, lane.number, lane.record)
    if refused then return refused end
  end
  for topic, its_number in pairs(numbers) do Quotas.take(topic, its_number) end
  for _, lane in pairs(lanes) do Quotas.take_of_key(lane.topic, lane.number, lane.record) end
  room = room - number
  local results = {}
  for i = first, last, 4 do results[#results + 1] = answers[i] or add(unpack(ARGV, i, i + 3)) end
  return results
end

script('schedule_all', {}, {Expiries, Idempotency, Lanes, Places, Quotas, Records, Stream}, function()
  local lists, topics, is_known, at = {}, {}, {}, 4
  while at <= #ARGV do
    local number = tonumber(string.match(ARGV[at], '^[1-9]%d*$'))
    if not number or at + 4 * number > #ARGV then error('wrong number of arguments') end
    for i = at + 1, at + 4 * number, 4 do
      if not string.match(ARGV[i], '^[^/]+/.') then error('not an id') end
      if not string.match(ARGV[i + 1], '^@?%d+$') then error('not a number') end
      if not string.match(ARGV[i + 3], '^%S+ .') and ARGV[i + 3] ~= '-' then error('not a key') end
      local topic = topic_of(ARGV[i])
      if not is_known[topic] then topics[#topics + 1] = topic end
      is_known[topic] = true
    end
    lists[#lists + 1] = at
    at = at + 1 + 4 * number
  end
  probe()
  Quotas.look(topics)
  local max_jobs = tonumber(ARGV[2])
  room = max_jobs > 0 and max_jobs - Expiries.jobs_below(max_jobs) or math.huge
  local replies = {now_us}
  for i = 1, #lists do replies[#replies + 1] = schedule_all(lists[i]) end
  Places.finish()
  return replies
end)

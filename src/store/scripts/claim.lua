#!lua flags=allow-oom
-- claim.lua - leases due jobs of ready topics, topic by topic in turn.
--
-- ARGV[2] the most jobs   [3] nonce   [4] lease, ms   [5] the most jobs of one topic in a row, while there
--      are others
-- ARGV[6] the most bytes of records (one job is always given)
-- Returns {now_us, topics still ready, version of what is known of receivers, number of jobs, then for each: id, due,
-- record; then the settings of those topics among them that have some: topic, settings, ..., and of a few that were passed
-- over because their settings cannot be read or need what this process does not know}.
-- uses: attempts crashes due expiry places probe settings
local left, nonce, lease_ms, share = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local bytes_left = tonumber(ARGV[6])
local READ_AT_ONCE = 16 -- records
local HEAD = 4 -- replies before the first job
local replies = {now_us, 0, 0, 0}
local deadline = integer(now + lease_ms)
local leases = {} -- deadline, id, deadline, id ... written at the end

-- Leases what fits of ids (id, due, id, due ...); an id without a record, or what is no id, loses its place and past. Returns how many of
-- them spend the rate: a job that has expired is buried without an attempt.
local function lease(topic, ids)
  local places_left, holders = {}, {}
  local has_rate, spending = settings_of(topic).rate ~= nil, 0
  for i = 1, #ids, 2 * READ_AT_ONCE do
    local some = {}
    for k = i, math.min(i + 2 * READ_AT_ONCE - 1, #ids), 2 do some[#some + 1] = ids[k] end
    local records, dues = call('HMGET', JOBS, unpack(some)), held_dues(topic, some)
    for k = 1, #some do
      local record, due = records[k], dues[k] or ids[i + 2 * k - 1]
      if record and #record > bytes_left and #replies > HEAD then
        bytes_left = 0
        break
      end
      places_left[#places_left + 1] = some[k]
      if not record or #some[k] < #topic + 2 then
        forget_crashes(some[k])
        forget_attempts({some[k]})
      else
        bytes_left = bytes_left - #record
        leases[#leases + 1] = deadline
        leases[#leases + 1] = some[k]
        holders[#holders + 1] = some[k]
        holders[#holders + 1] = nonce .. ' ' .. due
        replies[#replies + 1] = some[k]
        replies[#replies + 1] = tonumber(due)
        replies[#replies + 1] = record
        left = left - 1
        if has_rate and not is_expired(record) then spending = spending + 1 end
      end
    end
    if bytes_left <= 0 then break end
  end
  if #places_left > 0 then leave_bucket(topic, places_left) end
  if #holders > 0 then
    call('HSET', holders_of(topic), unpack(holders))
    keep_name(topic)
  end
  return spending
end

-- The first places of a topic's due jobs. Where it is far behind, a quarter of them are those that fell due last,
-- so that a new job does not wait for all the retries before it: id, due, id, due ... A topic that lets only a few run at
-- once keeps its order.
local BEHIND_MS, NEWEST_LIMIT = 500, 8
local function first_places(topic, most)
  local places = call('ZRANGEBYSCORE', bucket_of(topic), '-inf', DUE_NOW, 'WITHSCORES', 'LIMIT', 0, most)
  local quarter = limit_of(topic) < NEWEST_LIMIT and 0 or most < 4 and (now_us % 4 == 0 and 1 or 0) or math.floor(most / 4)
  local kept = 2 * (most - quarter)
  if quarter == 0 or #places < 2 * most or tonumber(places[2]) > now - BEHIND_MS then return places end
  local last = call('ZREVRANGEBYSCORE', bucket_of(topic), DUE_NOW, '-inf', 'WITHSCORES', 'LIMIT', 0, quarter)
  if kept > 0 and tonumber(last[#last]) <= tonumber(places[kept]) then return places end
  for i = 1, #last do places[kept + i] = last[i] end
  return places
end

local served, is_served = {}, {}
local function serve(topic, most)
  local places = first_places(topic, most)
  spend_tokens(topic, lease(topic, places), tonumber(places[2]))
  if not is_served[topic] then
    is_served[topic] = true
    served[#served + 1] = topic
  end
end

-- Topics that are not served here. A claim that finds no others waits for the next bell or second, as if there were none.
local passed, is_passed = {}, {}
local PASSED_MAX = 4
local function may_serve(topic)
  local owner = owner_of(topic)
  if settings_of(owner) ~= UNREADABLE and knows_needs(owner) then return true end
  if not is_passed[topic] and #passed < PASSED_MAX then passed[#passed + 1] = topic end
  is_passed[topic] = true
  return false
end

-- Each round gives a job, except where places have no records, the clock stepped back or the limit was
-- lowered: that is cleared away in bounded steps, too.
local rounds = 2 * left
local function take_turn(topic, is_alone)
  if is_alone then share = left end -- nobody else waits for a turn
  local free = limit_of(topic) - call('HLEN', holders_of(topic))
  local most = math.min(left, share, free, (tokens_of(topic)))
  if settings_of(topic).paused or not may_serve(topic) then most = 0 end
  if most > 0 then serve(topic, most) end
  offer(topic)
end

-- The first topics in turns have their turn one after the other; then those that are still ready go to the end.
local TURNS_AT_ONCE = 64
local function has_work() return left > 0 and bytes_left > 0 and rounds > 0 end
local function take_turns()
  local topics = call('ZRANGE', TURNS, 0, TURNS_AT_ONCE - 1)
  local beyond = #topics == TURNS_AT_ONCE and call('ZCARD', TURNS) - TURNS_AT_ONCE or 0
  for i = 1, #topics do
    if not has_work() then break end
    rounds = rounds - 1
    take_turn(topics[i], #topics - i + #turns_added + beyond == 0)
  end
  write_offers(true)
  return #topics > 0
end

probe()
while has_work() and take_turns() do end
if #leases > 0 then call('ZADD', LEASES, unpack(leases)) end
write_waiting()
write_held()
write_names()
local is_idle = #passed > 0 and #replies == HEAD
if not is_idle then ring() end
wake()
replies[2] = is_idle and 0 or call('ZCARD', TURNS)
replies[3] = tonumber(call('HGET', base .. 'receivers', 'version')) or 0
replies[4] = (#replies - HEAD) / 3
for i = 1, #passed do served[#served + 1] = passed[i] end

-- A consumer needs to know whether what it delivers is kept.
local function text_for_consumer(topic)
  local own, all = serving_text_of(topic), settings_of('*').retention
  local settings = settings_of(owner_of(topic))
  if not all or settings.retention or settings == UNREADABLE then return own end
  return string.format('{"retention":%.14g', all) .. (#own <= 2 and '}' or ',' .. string.sub(own, 2))
end
for i = 1, #served do
  local text = text_for_consumer(served[i])
  if text ~= '' then
    replies[#replies + 1] = served[i]
    replies[#replies + 1] = text
  end
end
return replies

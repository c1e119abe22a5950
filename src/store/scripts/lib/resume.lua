-- resume.lua - puts held jobs back to the times when they were due, before their hold ends.
--
-- The RESUMING key has topics whose setting breaker has become false, with the cursor of a walk through their held jobs.
-- resume_held in meta is the cursor of a walk through HELD, which finds such topics after a change of patterns. A job that was
-- held for another reason is tried once more.
-- uses: has held line places

local RESUMING = base .. 'resuming'

-- Returns whether circuit breakers hold no jobs of the topic. Sibling topics do not have the setting of their owner.
local function is_without_breaker(topic) return settings_of(topic).breaker == false end

-- A job that is no longer held keeps its place: it was cancelled, changed or claimed meanwhile.
local function resume_jobs(topic, ids)
  local dues, places_now = held_dues(topic, ids), call('ZMSCORE', bucket_of(topic), unpack(ids))
  for i = 1, #ids do
    if dues[i] and places_now[i] and tonumber(dues[i]) <= tonumber(places_now[i]) then put_back(ids[i], dues[i]) end
    if dues[i] and has_settings() and is_fifo(topic) then
      let_go(ids[i], dues[i])
      touch(topic)
    end
  end
end

-- Starts the walk of a topic, or restarts it.
local function start_resuming(topic)
  if is_without_breaker(topic) and has(HELD) and call('EXISTS', held_of(topic)) == 1 then call('HSET', RESUMING, topic, '0') end
end

-- Starts the walk through all topics with held jobs, or restarts it.
local function start_resuming_all()
  if has(HELD) then call('HSET', META, 'resume_held', '0') end
end

-- Returns how many jobs were examined. The pages together have each job that was held during the whole walk.
local function resume_page(topic, most)
  local page = call('ZSCAN', held_of(topic), call('HGET', RESUMING, topic), 'COUNT', most)
  local ids = {}
  for i = 1, #page[2], 2 do ids[#ids + 1] = page[2][i] end
  local is_over = page[1] == '0' or not is_without_breaker(topic)
  if is_over then call('HDEL', RESUMING, topic) else call('HSET', RESUMING, topic, page[1]) end
  if #ids > 0 and is_without_breaker(topic) then resume_jobs(topic, ids) end
  return #ids + 1
end

-- Returns how many topics were examined, or nothing if no walk through them is under way.
local function find_page(most)
  local cursor, topics = call('HGET', META, 'resume_held'), {}
  if not cursor then return end
  local page = call('ZSCAN', HELD, cursor, 'COUNT', most)
  for i = 1, #page[2], 2 do topics[#topics + 1] = page[2][i] end
  if page[1] == '0' then call('HDEL', META, 'resume_held') else call('HSET', META, 'resume_held', page[1]) end
  fetch_settings(topics)
  for i = 1, #topics do start_resuming(topics[i]) end
  return #topics + 1
end

-- Does one step, which examines about most jobs and topics. Returns whether there are more.
local function resume_step(most)
  while most > 0 do
    local topic = call('HRANDFIELD', RESUMING)
    local number = topic and resume_page(topic, most) or find_page(most)
    if not number then return false end
    most = most - number
  end
  return true
end

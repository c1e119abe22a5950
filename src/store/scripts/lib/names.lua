-- names.lua - NAMES, the sorted set of all topics that have jobs, kept jobs (jobs that have ended) or settings, for
-- lists of topics by name.

local Names = {uses = {}}

-- names_added: topics that may be new. names_doubted: topics that may be empty now. Names.write updates NAMES, after
-- all other writes of the call.
local names_added, names_doubted, is_doubted = {}, {}, {}
local has_no_bucket = {} -- doubted topics that will certainly have no waiting jobs at the end of this call
function Names.add(topic)
  names_added[#names_added + 1] = '0'
  names_added[#names_added + 1] = topic
end

-- Notes that a topic may be empty now. lacks_bucket: the topic has no waiting jobs, and this call will not add any.
function Names.doubt(topic, lacks_bucket)
  has_no_bucket[topic] = lacks_bucket or has_no_bucket[topic]
  if not is_doubted[topic] then
    is_doubted[topic] = true
    names_doubted[#names_doubted + 1] = topic
  end
end

-- Keeps the name of a topic, even if a later step of this call takes the topic for empty. Called for topics with
-- leases.
function Names.keep(topic) is_doubted[topic] = true end

-- Returns whether all these topics are empty.
local function have_nothing(topics)
  local keys = {}
  for i = 1, #topics do
    local topic = topics[i]
    keys[#keys + 1] = holders_of(topic)
    if not has_no_bucket[topic] then keys[#keys + 1] = bucket_of(topic) end
    if has_rare_keys or is_there[KEPT] then
      for _, state in ipairs({'dead', 'delivered', 'cancelled'}) do keys[#keys + 1] = index_of(state, topic) end
    end
  end
  if call('EXISTS', unpack(keys)) > 0 then return false end
  for _, text in ipairs(has(TOPICS) and call('HMGET', TOPICS, unpack(topics)) or {}) do
    if text then return false end
  end
  return true
end

-- Returns the doubted topics that have no data left. Usually no doubted topic has data left, so one query for all of
-- them comes first.
local function names_to_remove()
  if have_nothing(names_doubted) then return names_doubted end
  local removed = {}
  for i = 1, #names_doubted do
    local topic = names_doubted[i]
    if #names_doubted > 1 and have_nothing({topic}) then removed[#removed + 1] = topic end
  end
  return removed
end

-- Writes the changes to NAMES. Returns the names that were removed.
function Names.write()
  local removed = {}
  if #names_doubted > 0 then
    removed, names_doubted, is_doubted = names_to_remove(), {}, {}
  end
  if #names_added > 0 then
    call('ZADD', NAMES, unpack(names_added))
    names_added = {}
  end
  if #removed > 0 then call('ZREM', NAMES, unpack(removed)) end
  return removed
end

function Names.begin()
  if #names_added > 0 then names_added = {} end
  if #names_doubted > 0 then names_doubted = {} end
  if next(is_doubted) then is_doubted = {} end
  if next(has_no_bucket) then has_no_bucket = {} end
end

return Names

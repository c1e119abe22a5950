-- names.lua - the index of topics by name. A topic is in it as long as it has jobs, jobs that are kept, or settings.
-- uses: kept_keys settings

local NAMES = base .. 'names'

local function has_more_than_jobs(topic, has_kept)
  if has(TOPICS) and call('HEXISTS', TOPICS, topic) == 1 then return true end
  return has_kept and call('EXISTS', index_of('dead', topic), index_of('delivered', topic), index_of('cancelled', topic)) > 0
end

-- Topics with waiting jobs, and those that may have nothing any more; written by write_names, behind all else.
local names_added, names_doubted, is_doubted = {}, {}, {}
local function add_name(topic)
  names_added[#names_added + 1] = '0'
  names_added[#names_added + 1] = topic
end

local function doubt_name(topic)
  if not is_doubted[topic] then
    is_doubted[topic] = true
    names_doubted[#names_doubted + 1] = topic
  end
end

-- A topic with leases keeps its name.
local function keep_name(topic) is_doubted[topic] = true end

local function write_names()
  local removed, has_kept = {}, #names_doubted > 0 and call('EXISTS', KEPT) == 1
  for i = 1, #names_doubted do
    local topic = names_doubted[i]
    if call('EXISTS', holders_of(topic), bucket_of(topic)) > 0 or has_more_than_jobs(topic, has_kept) then
      add_name(topic)
    else
      removed[#removed + 1] = topic
    end
  end
  if #names_added > 0 then call('ZADD', NAMES, unpack(names_added)) end
  if #removed > 0 then call('ZREM', NAMES, unpack(removed)) end
  names_added, names_doubted, is_doubted = {}, {}, {}
  return removed
end

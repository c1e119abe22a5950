-- lists.lua - reads the jobs of a topic in a state page by page: in the order of their times, and of their ids for
-- equal times, oldest or newest first.

local Lists = {uses = {}}

-- Returns whether a is before b. Redis compares ids and names by bytes, but the operator < of Lua compares by the
-- locale that Redis was started in. Names often begin alike, so the function skips equal bytes at the beginning,
-- several at a time.
function Lists.precedes(a, b)
  local byte, sub = string.byte, string.sub
  local from, shorter = 1, math.min(#a, #b)
  while from + 15 <= shorter and sub(a, from, from + 15) == sub(b, from, from + 15) do from = from + 16 end
  while from + 3 <= shorter and sub(a, from, from + 3) == sub(b, from, from + 3) do from = from + 4 end
  for i = from, shorter do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Returns the limits low and high of the scores for a list of jobs in this state: low <= score < high. Ready and
-- delayed jobs are in the same sorted set, the bucket of their topic: a job is ready when its due time has come, and
-- delayed until then. after, before: limits that the client has requested, or ''. began: when the list began, ms, or 0.
function Lists.bounds_of(state, after, before, began)
  local low, high = tonumber(after) or -math.huge, tonumber(before) or math.huge
  if state == 'delayed' then low = math.max(low, now + 1) end
  if state == 'ready' then high = math.min(high, now + 1) end
  if began > 0 and state ~= 'delayed' then high = math.min(high, began) end
  return low, high
end

function Lists.from_text(low) return low == -math.huge and '-inf' or integer(low) end

function Lists.below_text(high) return high == math.huge and '+inf' or '(' .. integer(high) end

-- Returns the number of entries of the sorted set key before the entry with this score and id, including this entry if
-- with_it is set. The entry may have been removed in the meantime, so a binary search finds its position.
function Lists.rank_of(key, score, id, with_it)
  local low = call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = call('ZRANGE', key, middle, middle)[1]
    if Lists.precedes(id, other) or not with_it and id == other then high = middle else low = middle + 1 end
  end
  return low
end

-- Returns the name of the sorted set that has a topic's jobs in this state.
function Lists.key(state, topic) return state == 'dead' and index_of(state, topic) or bucket_of(topic) end

-- Returns the next jobs of a topic in this state, as id, score, id, score ...: those after the job with this score and
-- id, which may be a job of another topic, or '' to begin with the first. number: maximum number of jobs.
function Lists.entries_behind(state, topic, low, high, score, id, number, is_newest_first)
  local bucket, from, to = Lists.key(state, topic), Lists.from_text(low), Lists.below_text(high)
  local other = id ~= '' and topic_of(id)
  if other == topic then
    -- Jobs up to the given one are skipped by their number, not by their time, because many jobs may have the same
    -- time.
    local rank = Lists.rank_of(bucket, score, id, not is_newest_first)
    local first = is_newest_first and call('ZCARD', bucket) - rank or rank
    local entries = is_newest_first and call('ZRANGE', bucket, first, first + number - 1, 'REV', 'WITHSCORES')
      or call('ZRANGE', bucket, first, first + number - 1, 'WITHSCORES')
    for i = 2, #entries, 2 do
      local at = tonumber(entries[i])
      if at < low or at >= high then return {unpack(entries, 1, i - 2)} end
    end
    return entries
  end
  local is_before = other and Lists.precedes(topic .. '/', other .. '/')
  if is_newest_first then
    if other and tonumber(score) < high then to = is_before and score or '(' .. score end
    return call('ZRANGE', bucket, to, from, 'BYSCORE', 'REV', 'LIMIT', 0, number, 'WITHSCORES')
  end
  if other and tonumber(score) >= low then from = is_before and '(' .. score or score end
  return call('ZRANGE', bucket, from, to, 'BYSCORE', 'LIMIT', 0, number, 'WITHSCORES')
end

-- Returns whether the entry (score, id) is before the entry (other_score, other_id) in the list.
function Lists.stands_before(score, id, other_score, other_id, is_newest_first)
  if score ~= other_score then return (score < other_score) ~= is_newest_first end
  return id ~= other_id and Lists.precedes(id, other_id) ~= is_newest_first
end

return Lists

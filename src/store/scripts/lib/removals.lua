-- removals.lua - decides whether data may be removed because of its age. If Redis's clock steps ahead, all data is old at
-- once. So for some minutes after a step, nothing is removed by age: there is time to set the clock right.
-- uses: clock keys

-- META has two times, in ms: 'clock', a time that Redis's clock has shown lately, written by the owner of the carry lock
-- (carry.lua); and 'rest', until when nothing is removed. While no duepost runs, the clock is not watched. So a long
-- time without a duepost has the same effect as a step.
local REST_MS, GAP_MS, AHEAD_MS, MARK_MS = 300000, 3600000, 10000, 600000

-- Returns whether nothing may be removed by age now. If the clock has stepped back since 'rest' was written, that time
-- may be far in the future; it is then not used.
local function removals_rest()
  local seen = call('HMGET', META, 'clock', 'rest')
  local at, rest = tonumber(seen[1]), tonumber(seen[2])
  return at and now - at > GAP_MS or rest and rest > now and rest - now <= REST_MS or false
end

-- Called each second by the owner of the carry lock, which expects that the clock shows expected_ms now, or less; -1: it
-- does not know the clock yet. Notes a step ahead. Returns whether nothing may be removed by age now.
local function watch_clock(expected_ms)
  local seen = call('HMGET', META, 'clock', 'rest', 'born')
  local at, rest = tonumber(seen[1] or seen[3]), tonumber(seen[2])
  if at and now - at > GAP_MS or expected_ms >= 0 and now - expected_ms > AHEAD_MS then
    call('HSET', META, 'clock', integer(now), 'rest', integer(now + REST_MS))
    return true
  end
  local rests = rest and rest > now and rest - now <= REST_MS
  if rest and not rests then call('HDEL', META, 'rest') end
  if not seen[1] or math.abs(now - at) >= MARK_MS then call('HSET', META, 'clock', integer(now)) end
  return rests
end

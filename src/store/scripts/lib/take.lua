-- take.lua - removes an id from the leases, or from the waiting jobs of its topic (its bucket).
-- uses: places

-- Removes an id. Returns 'leased' or 'waiting', which says where it was, or nothing if it was in neither.
-- rare: take
local function take(id)
  local topic = topic_of(id)
  touch(topic)
  if call('ZREM', LEASES, id) == 1 or has(PULLED) and call('ZREM', PULLED, id) == 1 then
    call('HDEL', holders_of(topic), id)
    return 'leased'
  end
  if leave_bucket(topic, {id}) == 1 then return 'waiting' end
end

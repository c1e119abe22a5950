-- take.lua - removes an id from its place, which is the leases or its topic's bucket.
-- uses: places

-- Removes an id from the leases or from its bucket. Returns 'leased', 'waiting', or nothing if it was in neither.
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

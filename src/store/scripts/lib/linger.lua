-- linger.lua - begins and ends the lingering of an attempt.
-- uses: crashes lingering take

-- Takes a cancelled id from its place. If it was leased by a consumer, the attempt keeps its place in flight.
local function take_cancelled(id)
  local deadline = call('ZSCORE', LEASES, id)
  if not deadline then return leave_bucket(topic_of(id), {id}) == 1 and 'waiting' or nil end
  local claim = call('HGET', holders_of(topic_of(id)), id)
  local was = take(id)
  if claim and not is_recovering(claim) then
    local place = place_of(id, string.match(claim, '^%S+'))
    call('ZADD', LINGERING, deadline, place)
    is_there[LINGERING] = true
    call('HSET', holders_of(topic_of(id)), place, '')
  end
  return was
end

-- The attempt of this claim is over; it may have lingered.
local function end_lingering(id, nonce)
  local place = place_of(id, nonce)
  if not is_lingering(place) then return end
  free_place(place)
  touch(topic_of(id))
end

-- linger.lua - lets attempts of cancelled jobs count as in flight until they end, see lingering.lua.
-- uses: crashes leases lingering take

-- Removes a cancelled job's id from its place. If a consumer had leased the job, its attempt still counts as in
-- flight.
local function take_cancelled(id)
  local deadline = deadline_of(id)
  if not deadline then return leave_bucket(topic_of(id), {id}) == 1 and 'waiting' or nil end
  local claim = call('HGET', holders_of(topic_of(id)), id)
  local was = take(id)
  if claim and not is_recovering(claim) then
    local place = place_of(id, string.match(claim, '^%S+'))
    local key = lingering_of(place)
    call('ZADD', key, deadline, place)
    is_there[key] = true
    call('HSET', holders_of(topic_of(id)), place, '')
  end
  return was
end

-- Ends the lingering of this claim's attempt, if its job was cancelled: the attempt no longer counts as in flight.
-- rare: lingering
local function end_lingering(id, nonce)
  local place = place_of(id, nonce)
  if not is_lingering(place) then return end
  free_place(place)
  touch_freed(topic_of(id))
end

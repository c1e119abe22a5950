-- linger.lua - if a job is cancelled during an attempt, the attempt still counts against the limit of jobs in flight
-- until it ends, see lingering.lua.
-- uses: crashes leases lingering take

-- Removes a cancelled job's id from the leases or from the waiting jobs. If a consumer or a worker has leased the job,
-- its attempt lingers. Returns 'leased', 'waiting', or nothing if the id was in neither.
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

-- Called when an attempt ends. If its job was cancelled during the attempt, the attempt no longer counts as in flight.
-- nonce: that of the attempt's lease.
-- rare: lingering
local function end_lingering(id, nonce)
  local place = place_of(id, nonce)
  if not is_lingering(place) then return end
  free_place(place)
  touch_freed(topic_of(id))
end

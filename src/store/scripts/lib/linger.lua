-- linger.lua - if a job is cancelled or replaced during an attempt, the attempt still counts against the limit of jobs
-- in flight until it ends, see lingering.lua.
-- uses: attempts crashes has keep leases lingering take

-- Removes the id of a cancelled or replaced job from the leases or from the waiting jobs. If a consumer or a worker has
-- leased the job, its attempt lingers. why: '' or 'replaced'. Returns 'leased', 'waiting', or nothing if the id was in
-- neither.
local function take_cancelled(id, why)
  local deadline = deadline_of(id)
  if not deadline then return leave_bucket(topic_of(id), {id}) == 1 and 'waiting' or nil end
  local claim = call('HGET', holders_of(topic_of(id)), id)
  local was = take(id)
  if claim and not is_recovering(claim) then
    local place = place_of(id, string.match(claim, '^%S+'))
    local key = lingering_of(place)
    call('ZADD', key, deadline, place)
    is_there[key] = true
    call('HSET', holders_of(topic_of(id)), place, why or '')
  end
  return was
end

-- Prepares the replacement of a job that has not ended by a new job with its id. If an attempt of the old job is
-- running, this is a cancel: the old job is kept as cancelled, with the reason 'replaced', and its attempt lingers, so
-- the outcome of this attempt does not touch the new job. A job that waits leaves nothing behind. Returns whether an
-- attempt was running. The caller must write the new record and put the job into its bucket.
local function make_way(id)
  local is_leased = deadline_of(id) and true or false
  if is_leased then
    if has_history() or has_settings() then keep_job(id, 'cancelled', nil, 'replaced') end
    take_cancelled(id, 'replaced')
  end
  forget_crashes(id)
  forget_attempts({id})
  return is_leased
end

-- Called when an attempt ends. If its job was cancelled or replaced during the attempt, the attempt no longer counts as
-- in flight. nonce: that of the attempt's lease. Returns the result for the caller: REPLACED, or 0 (stale).
local function end_lingering(id, nonce)
  local place = place_of(id, nonce)
  local why = why_lingering(place)
  if not why then return 0 end
  free_place(place)
  touch_freed(topic_of(id))
  return why == 'replaced' and RESULT_REPLACED or 0
end

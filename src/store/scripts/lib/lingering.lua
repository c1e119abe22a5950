-- lingering.lua - attempts that still run although their job was cancelled or replaced.

local Lingering = {uses = {Attempts, Ended, Lanes, Leases, Places, Ranks, Stream}}

-- Such an attempt lingers: it counts against the topic's limit of jobs in flight until it ends or the deadline of its
-- lease passes. The sorted set lingering of each kind of holders has the deadlines of these attempts: id, newline, nonce of the lease ->
-- deadline, ms. If the consumer renews the lease, the deadline changes. The hash holders:<topic>, whose size is the
-- number of jobs in flight, has a field with the same name as the entry there; its value is 'replaced' if a new
-- job has replaced the job of this attempt, else ''.
function Lingering.place(id, nonce) return id .. '\n' .. nonce end

local function lingering_of(place) return Leases.holder(string.match(place, '[^\n]*$')).lingering end

function Lingering.has(place)
  local key = lingering_of(place)
  return has(key) and call('ZSCORE', key, place) ~= false
end

-- Returns why an attempt lingers, 'replaced' or '', or nothing if it does not.
function Lingering.why(place)
  return Lingering.has(place) and call('HGET', holders_of(topic_of(place)), place) or nil
end

-- Removes the entries of a lingering attempt, which then no longer counts as in flight. The caller must then offer the
-- topic (turns.lua), because another job may now be leased. place: id, newline, nonce.
function Lingering.free(place)
  call('ZREM', lingering_of(place), place)
  call('HDEL', holders_of(topic_of(place)), place)
  if not has_lanes then return end
  Lanes.end_attempts(topic_of(place), {place})
  Ranks.forget({place})
end

-- ---- cancelled and replaced jobs ----

-- Removes the id of a cancelled or replaced job from the leases or from the waiting jobs. If a consumer or a worker has
-- leased the job, its attempt lingers. why: '' or 'replaced'. Returns 'leased', 'waiting', or nothing if the id was in
-- neither.
function Lingering.take_cancelled(id, why)
  local deadline = Leases.deadline(id)
  if not deadline then return Places.leave_bucket(topic_of(id), {id}) == 1 and 'waiting' or nil end
  local claim = call('HGET', holders_of(topic_of(id)), id)
  local was = Places.take(id)
  if claim and not Attempts.is_recovering(claim) then
    local place = Lingering.place(id, string.match(claim, '^%S+'))
    local key = lingering_of(place)
    call('ZADD', key, deadline, place)
    is_there[key] = true
    call('HSET', holders_of(topic_of(id)), place, why or '')
    if has_lanes then Lanes.linger(id, place) end
  end
  return was
end

-- Prepares the replacement of a job that has not ended by a new job with its id. If an attempt of the old job is
-- running, this is a cancel: the old job is kept as cancelled, with the reason 'replaced', and its attempt lingers, so
-- the outcome of this attempt does not touch the new job. A job that waits leaves nothing behind. Returns whether an
-- attempt was running. The caller must write the new record and put the job into its bucket.
function Lingering.make_way(id)
  local is_leased = Leases.deadline(id) and true or false
  if is_leased then
    if has_history() or has_settings() then Ended.keep_job(id, 'cancelled', nil, 'replaced') end
    Lingering.take_cancelled(id, 'replaced')
    Stream.add(topic_of(id), id, 'cancelled')
  end
  Attempts.forget_losses(id)
  Attempts.forget({id})
  return is_leased
end

-- Called when an attempt ends. If its job was cancelled or replaced during the attempt, the attempt no longer counts as
-- in flight. nonce: that of the attempt's lease. Returns the result for the caller: REPLACED, or 0 (stale).
function Lingering.finish(id, nonce)
  local place = Lingering.place(id, nonce)
  local why = Lingering.why(place)
  if not why then return 0 end
  Lingering.free(place)
  Places.touch_freed(topic_of(id))
  return why == 'replaced' and RESULT.REPLACED or 0
end

return Lingering

-- sent.lua - the current states of the jobs of a send. A job that is sent to a group becomes one job for each endpoint
-- of the group.
-- uses: kept_keys locate sends

local placed = {} -- id of a job that this call has scheduled, but not written to the waiting jobs yet -> due, ms

-- Returns the state of a job and a time: when it is due, when its lease ends, or when it ended. The state 'ended' means
-- that the job has ended and its data was removed. sent_at: the time of the send.
local function state_of(id, sent_at)
  if is_of_send(id, sent_at) then
    local state, score = locate(id)
    -- an id in neither the leases nor the waiting jobs (lost data): the janitor will make the job ready
    score = tonumber(score) or placed[id] or now
    return state or (score > now and 'delayed' or 'ready'), score
  end
  for _, state in ipairs({'dead', 'delivered', 'cancelled'}) do
    local at = call('ZSCORE', index_of(state, topic_of(id)), id)
    if at then return state, tonumber(at) end
  end
  return 'ended', 0
end

-- Appends endpoint, state, time for each job of a send to a list. sent_at: the time of the send.
local function add_states(list, id, endpoints, sent_at)
  for i = 1, #endpoints do
    list[#list + 1] = endpoints[i]
    list[#list + 1], list[#list + 2] = state_of(job_of(id, endpoints[i]), sent_at)
  end
  return list
end

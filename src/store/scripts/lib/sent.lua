-- sent.lua - the current states of jobs that were sent to a group.
-- uses: kept_keys locate sends

local placed = {} -- id -> due, ms: jobs that this call has scheduled, which are in no bucket yet

-- Returns the state and the time of a job of a send: when it is due, when its lease ends, or when it ended. The state
-- 'ended' means that the job is neither in the pool nor kept.
local function state_of(id, sent_at)
  if is_of_send(id, sent_at) then
    local state, score = locate(id)
    score = tonumber(score) or placed[id] or now -- the id is in no place: the janitor will make the job ready
    return state or (score > now and 'delayed' or 'ready'), score
  end
  for _, state in ipairs({'dead', 'delivered', 'cancelled'}) do
    local at = call('ZSCORE', index_of(state, topic_of(id)), id)
    if at then return state, tonumber(at) end
  end
  return 'ended', 0
end

-- Appends endpoint, state, time, ... to a list. sent_at: the time of the send.
local function add_states(list, id, endpoints, sent_at)
  for i = 1, #endpoints do
    list[#list + 1] = endpoints[i]
    list[#list + 1], list[#list + 2] = state_of(job_of(id, endpoints[i]), sent_at)
  end
  return list
end

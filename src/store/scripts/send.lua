-- send.lua - schedules jobs that are sent to a group of endpoints. A send becomes one job for each endpoint: all of
-- these are scheduled, or none. The flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit   [3] time that an idempotency key is kept, ms
-- then for each send:
--   id      topic/jobId; '~' and the name of the endpoint are added to it for each job
--   when    as in schedule.lua
--   once    as in schedule.lua
--   mark    fingerprint of the job and the name of its group
--   group
--   number  of endpoints, for each of which a name and a record as in schedule.lua follow. 0: the group no longer
--           exists, or yields no jobs for this send; the script then only looks for an earlier send
-- Returns {now_us, result ...}. A result is {'sent', due time of each job ...}, FULL, REUSED, NOT_FOUND,
-- EXPIRED, or that of Quotas.refusal. If the same
-- content was sent before and one of its jobs has not ended: {'same', endpoint, state, time, ...} as in sent.lua. If
-- another job has one of the ids: {'taken', id}. If an earlier call has used the idempotency key: {'repeated', due, id
-- and endpoints with a newline between} of that call's answer.

local room

-- Looks for an earlier send with this id, if one of its jobs has not ended. Returns {'same', endpoint, state, time,
-- ...} if it had the same content, else {'taken', id of such a job}, or nothing.
local function earlier(send)
  local mark, group, endpoints, sent_at = Sends.read(send.id)
  local left = mark and Sends.first_left(send.id, endpoints, sent_at)
  if not left then return end
  if mark == send.mark and group == send.group then return Sends.add_states({'same'}, send.id, endpoints, sent_at) end
  return {'taken', left}
end

local function put_all(send)
  local result = {'sent', unpack(Sends.put(send.id, send.when, send.mark, send.group, send.endpoints, send.records))}
  for i = 1, #send.endpoints do Sends.placed[Sends.job(send.id, send.endpoints[i])] = result[i + 1] end
  room = room - #send.endpoints
  return result
end

-- Keeps the answer to a send under its idempotency key. due: when its first job is due, ms.
local function keep_sent(send, endpoints, due)
  if send.once ~= '-' then Idempotency.keep(send.once, send.id .. '\n' .. table.concat(endpoints, ' '), due, tonumber(ARGV[3])) end
end

-- Keeps the answer {'same', endpoint, state, time, ...}, so that a repeated request does not send the jobs again after
-- their end. At least one of these jobs has not ended.
local function keep_same(send, answer)
  local endpoints, due = {}, nil
  for i = 2, #answer, 3 do
    local endpoint, state, at = unpack(answer, i, i + 2)
    endpoints[#endpoints + 1] = endpoint
    due = due or (state == 'delayed' or state == 'ready' or state == 'leased') and math.floor(at)
  end
  keep_sent(send, endpoints, due)
end

local function send_all(send)
  local answer = send.once ~= '-' and Idempotency.answer(send.once)
  if answer then return answer end
  answer = earlier(send)
  if answer then
    if answer[1] == 'same' then keep_same(send, answer) end
    return answer
  end
  if #send.endpoints == 0 then return RESULT.NOT_FOUND end
  local taken = Sends.first_left(send.id, send.endpoints)
  if taken then return {'taken', taken} end
  local at, created = Records.due_of(send.when)
  if tonumber(Records.expiry_in(created, send.records[1]) or 'inf') <= at then return RESULT.EXPIRED end -- all jobs expire at the same time
  if room < #send.endpoints or not Sends.has_room() then return RESULT.FULL end
  local refused = Quotas.refusal(topic_of(send.id), #send.endpoints, send.records[1])
  if refused then return refused end
  Quotas.take(topic_of(send.id), #send.endpoints, send.records[1])
  local result = put_all(send)
  keep_sent(send, send.endpoints, result[2])
  return result
end

script('send', {}, {Expiries, Idempotency, Places, Quotas, Records, Sends}, function()
  local sends = Sends.read_arguments(4, 'once', 0)
  probe()
  Quotas.look(Sends.topics(sends))
  local max_jobs = tonumber(ARGV[2])
  room = max_jobs > 0 and max_jobs - Expiries.jobs_below(max_jobs) or math.huge
  local replies = {now_us}
  for i = 1, #sends do replies[#replies + 1] = send_all(sends[i]) end
  Places.finish()
  return replies
end)

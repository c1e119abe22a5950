-- replace_send.lua - schedules jobs that are sent to a group, and replaces the jobs that were sent under the same id:
-- one job for each endpoint, all of them or none. Jobs that have these ids and have not ended are replaced, with all
-- their data; if an attempt of such a job is running, it is cancelled, see Lingering.make_way in lib/lingering.lua. If
-- the earlier send had other endpoints, too, their jobs are cancelled. The flag allow-oom is not set, so a full Redis
-- refuses new work.
--
-- ARGV[2]  maximum number of jobs that have not ended; 0: no limit
-- then for each send:
--   id      as in send.lua
--   when    as in schedule.lua
--   only    '!': refuse the send if the pool has such a job; or empty
--   mark    as in send.lua
--   group
--   number  of endpoints, at least 1, for each of which a name and a record as in schedule.lua follow
-- Returns {now_us, result ...}. A result is {'replaced', number of jobs replaced, how many of these during an attempt,
-- number cancelled, due time of each job ...}, FULL, NOT_AS_SEEN, EXPIRED, AGAIN,
-- or that of Quotas.refusal.

local max_jobs
local is_placed -- jobs that this call has scheduled, but not written to the waiting jobs yet

-- Lists the jobs that have not ended and that the send replaces or cancels: those with its ids, and those of the
-- earlier send to other endpoints.
local function met_jobs(send)
  local same, others, is_new = {}, {}, {}
  for i = 1, #send.endpoints do
    local id = Sends.job(send.id, send.endpoints[i])
    is_new[id] = true
    if call('HEXISTS', JOBS, id) == 1 then same[#same + 1] = id end
  end
  local _, _, endpoints, sent_at = Sends.read(send.id)
  for i = 1, #(endpoints or {}) do
    local id = Sends.job(send.id, endpoints[i])
    if not is_new[id] and Sends.is_of_send(id, sent_at) then others[#others + 1] = id end
  end
  return same, others
end

-- Returns by how much the number of jobs with the key of the new jobs grows. old: lists of the jobs that the send replaces.
local function more_of_key(send, ...)
  local key, number = Ranks.key_in(Ranks.in_record(send.records[1]) or Ranks.PLAIN), #send.endpoints
  for _, ids in ipairs({...}) do
    for i = 1, #ids do number = number - (Ranks.key_in(Ranks.of(ids[i])) == key and 1 or 0) end
  end
  return number
end

local function replace_send(send)
  if Records.has_read_enough() then return RESULT.AGAIN end
  local same, others = met_jobs(send)
  if send.only == '!' and #same + #others > 0 then return RESULT.NOT_AS_SEEN end
  local at, created = Records.due_of(send.when)
  if tonumber(Records.expiry_in(created, send.records[1]) or 'inf') <= at then return RESULT.EXPIRED end -- all jobs expire at the same time
  local more = #send.endpoints - #same - #others
  if more > 0 and (max_jobs > 0 and Expiries.jobs_below(max_jobs) + more > max_jobs or not Sends.has_room()) then return RESULT.FULL end
  local its_more = more_of_key(send, same, others)
  local refused = more > 0 and Quotas.refusal(topic_of(send.id), more)
    or its_more > 0 and Quotas.refusal_of_key(topic_of(send.id), its_more, send.records[1])
  if refused then return refused end
  for i = 1, #others do
    if is_placed[others[i]] then return RESULT.AGAIN end
  end
  for i = 1, #others do
    Records.read_on()
    Cancels.cancel(others[i], '')
  end
  Quotas.take(topic_of(send.id), more)
  Quotas.take_of_key(topic_of(send.id), its_more, send.records[1])
  local leased = 0
  for i = 1, #same do
    Records.read_on()
    if Lingering.make_way(same[i]) then leased = leased + 1 end
  end
  for i = 1, #send.endpoints do is_placed[Sends.job(send.id, send.endpoints[i])] = true end
  return {'replaced', #same, leased, #others, unpack(Sends.put(send.id, send.when, send.mark, send.group, send.endpoints, send.records))}
end

script('replace_send', {}, {Cancels, Ended, Expiries, Lingering, Places, Quotas, Ranks, Records, Sends}, function()
  local sends = Sends.read_arguments(3, 'only', 1)
  probe()
  Quotas.look(Sends.topics(sends))
  max_jobs = tonumber(ARGV[2])
  is_placed = {}
  local replies = {now_us}
  for i = 1, #sends do replies[#replies + 1] = replace_send(sends[i]) end
  Ended.finish()
  Places.finish()
  return replies
end)

#!lua
-- send.lua - schedules jobs that were sent to a group: one job for each endpoint, all of them or none. The
-- flag allow-oom is not set, so a full Redis refuses new work.
--
-- ARGV[2]  maximum number of jobs in the pool; 0: no limit   [3] time that an idempotency key is kept, ms
-- then for each send:
--   id      topic/jobId; '~' and the name of the endpoint are added to it for each job
--   when    as in schedule.lua
--   once    as in schedule.lua
--   mark    fingerprint of the job and the name of its group
--   group
--   number  of endpoints, for each of which a name and a record as in schedule.lua follow. 0: there is no
--           such group any more; then only an earlier send is found
-- Returns {now_us, result ...}. A result is {'sent', due time of each job ...}, FULL, REUSED or NOT_FOUND. If
-- the same was sent before and one of its jobs is still in the pool: {'same', endpoint, state, time, ...} as
-- in sent.lua. If another job has one of the ids: {'taken', id}. If the idempotency key is kept: {'repeated',
-- due, id and endpoints with a newline between} of the first answer.
-- uses: idempotency probe put_send sent

-- Reads all sends, and refuses the call before its first write if one has not this form.
local sends = {}
local at = 4
while at <= #ARGV do
  local send = {id = ARGV[at], when = ARGV[at + 1], once = ARGV[at + 2], mark = ARGV[at + 3], group = ARGV[at + 4]}
  local number = tonumber(string.match(ARGV[at + 5] or '', '^%d+$'))
  if not number or at + 5 + 2 * number > #ARGV then error('wrong number of arguments') end
  if not string.match(send.id, '^[^/]+/.') then error('not an id') end
  if not string.match(send.when, '^@?%d+$') then error('not a number') end
  send.number = number
  send.endpoints, send.records = read_send_jobs(at + 6, number)
  if not string.match(send.mark .. ' ' .. send.group, '^%S+ %S+$') then error('not a mark and a group') end
  sends[#sends + 1] = send
  at = at + 6 + 2 * number
end
probe()
local max_jobs = tonumber(ARGV[2])
local room = max_jobs > 0 and max_jobs - call('HLEN', JOBS) or math.huge

-- The send that has this id and whose jobs are not all over: 'same' and the jobs' states, or the id of a job that is left.
local function earlier(send)
  local mark, group, endpoints = send_of(send.id)
  local left = mark and first_left(send.id, endpoints)
  if not left then return end
  if mark == send.mark and group == send.group then return add_states({'same'}, send.id, endpoints) end
  return {'taken', left}
end

local function put_all(send)
  local result = {'sent', unpack(put_send(send.id, send.when, send.mark, send.group, send.endpoints, send.records))}
  for i = 1, send.number do placed[job_of(send.id, send.endpoints[i])] = result[i + 1] end
  room = room - send.number
  return result
end

local function send_all(send)
  local answer = send.once ~= '-' and answered(send.once) or earlier(send)
  if answer then return answer end
  if send.number == 0 then return RESULT_NOT_FOUND end
  local taken = first_left(send.id, send.endpoints)
  if taken then return {'taken', taken} end
  if room < send.number or not has_room_for_send() then return RESULT_FULL end
  local result = put_all(send)
  if send.once ~= '-' then
    keep_answer(send.once, send.id .. '\n' .. table.concat(send.endpoints, ' '), result[2], tonumber(ARGV[3]))
  end
  return result
end

local replies = {now_us}
for i = 1, #sends do replies[#replies + 1] = send_all(sends[i]) end
finish()
return replies

-- put_send.lua - schedules a send: a job that is sent to a group becomes one job for each endpoint of the group. Only
-- this file adds sends to the key SENDS (sends.lua).
-- uses: places sends when

local SENDS_MAX, SENT_MIN_MS, SENT_MAX_MS = 1000000, 60000, 86400000
local function has_room_for_send() return call('HLEN', SENDS) < SENDS_MAX end

-- Schedules a job for each endpoint, and adds the send to SENDS. The caller has checked that the ids of these jobs are
-- free. Returns the due times of the jobs.
local function put_send(id, when, mark, group, endpoints, records)
  local due, created = due_of(when)
  local times = {}
  for i = 1, #endpoints do
    local job = job_of(id, endpoints[i])
    local text, expires = record_of(created, records[i])
    call('HSET', JOBS, job, text)
    note_expiry(job, expires)
    times[i] = put_new(job, due)
  end
  note_send(id, mark, group, endpoints, integer(created))
  call('ZADD', SENDS_UNTIL, integer(now + math.max(SENT_MIN_MS, math.min(SENT_MAX_MS, due - now + SENT_MIN_MS))), id)
  return times
end

-- Reads endpoint, record, endpoint, record ... from ARGV[first] on. number: how many endpoints.
local function read_send_jobs(first, number)
  local endpoints, records = {}, {}
  for i = 1, number do
    endpoints[i], records[i] = ARGV[first + 2 * i - 2], ARGV[first + 2 * i - 1]
    if not string.match(endpoints[i] or '', '^[%w._-]+$') or not records[i] then error('not an endpoint') end
  end
  return endpoints, records
end

-- Reads the sends from ARGV[at] on. Each send has the arguments id, when, a condition, mark, group, the number of
-- endpoints, and then an endpoint and a record for each of them. The third argument has another meaning in each
-- script; it becomes the field of the send that the parameter condition names. Ends the script with an error if a
-- send has another form, or fewer endpoints than fewest. Must be called before the first write.
local function read_sends(at, condition, fewest)
  local sends = {}
  while at <= #ARGV do
    local send = {id = ARGV[at], when = ARGV[at + 1], [condition] = ARGV[at + 2], mark = ARGV[at + 3], group = ARGV[at + 4]}
    local number = tonumber(string.match(ARGV[at + 5] or '', '^%d+$'))
    if not number or number < fewest or at + 5 + 2 * number > #ARGV then error('wrong number of arguments') end
    if not string.match(send.id, '^[^/]+/.') then error('not an id') end
    if not string.match(send.when, '^@?%d+$') then error('not a number') end
    if not string.match(send.mark .. ' ' .. send.group, '^%S+ %S+$') then error('not a mark and a group') end
    send.endpoints, send.records = read_send_jobs(at + 6, number)
    sends[#sends + 1] = send
    at = at + 6 + 2 * number
  end
  return sends
end

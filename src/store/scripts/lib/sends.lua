-- sends.lua - sends: jobs that were sent to a group. A send has become one job for each endpoint of the group.
--
-- The entry of a send has the names of the group's endpoints at the time of the send. So the jobs of the send can be
-- found and cancelled together even after the group has changed. The entry exists as long as one of these jobs has not
-- ended, and some time longer. When a job of a send has ended, a later job may get the same id. This later job does not
-- count as a job of the send: createdAt must match.
-- uses: head keys record

-- topic/jobId -> 'mark group endpoint endpoint ... @time'. mark is explained in send.lua. time is createdAt of the
-- jobs, in ms. Versions before 0.3 wrote no time; then each job whose id is made of the send's id and an endpoint
-- counts as a job of the send.
local SENDS = base .. 'sends'
local SENDS_UNTIL = base .. 'sends_until' -- topic/jobId -> when the entry is examined next, ms

-- Returns mark, group, list of endpoints and time of the send with this id, or nothing if no entry exists. The time is
-- a text, or nil.
local function send_of(id)
  local entry, time = string.match(call('HGET', SENDS, id) or '', '^([^@]*)@?(%d*)$')
  local words = {}
  for word in string.gmatch(entry or '', '%S+') do words[#words + 1] = word end
  if #words > 2 then return words[1], words[2], {unpack(words, 3)}, time ~= '' and time or nil end
end

local function job_of(id, endpoint) return id .. '~' .. endpoint end

local function was_created(record, time) return not time or created_of(record) == tonumber(time) end

-- Returns whether a job with this id has not ended and was created at this time, which is that of a send. If time is
-- nil, the time does not matter.
local function is_of_send(id, time)
  if not time then return call('HEXISTS', JOBS, id) == 1 end
  local record = call('HGET', JOBS, id)
  if not record then return false end
  record_bytes_left = record_bytes_left - #record
  return was_created(record, time)
end

-- Returns the id of the first job of a send that has not ended, or nothing. id, endpoints and time: those of the send.
local function first_left(id, endpoints, time)
  for i = 1, #endpoints do
    if is_of_send(job_of(id, endpoints[i]), time) then return job_of(id, endpoints[i]) end
  end
end

-- Adds the entry of a send. time: a text, or nil.
local function note_send(id, mark, group, endpoints, time)
  local entry = mark .. ' ' .. group .. ' ' .. table.concat(endpoints, ' ')
  call('HSET', SENDS, id, time and entry .. ' @' .. time or entry)
end

local function drop_send(id)
  call('HDEL', SENDS, id)
  call('ZREM', SENDS_UNTIL, id)
end

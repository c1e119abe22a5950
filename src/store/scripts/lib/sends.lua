-- sends.lua - jobs that were sent to a group, as one job for each of its endpoints.
--
-- The entry of a send is in the shard of its topic. The entry has the names that the group's endpoints had when the job
-- was sent. So the jobs can be found and cancelled together even after the group has changed. The entry exists as long
-- as one of the jobs is in the pool, and some time longer. When a job of a send has ended, a later job may get the same
-- id. Only jobs that were created by the send itself count as its jobs.
-- uses: keys record

-- topic/jobId -> 'mark group endpoint endpoint ... @time', with spaces between. time is createdAt of the jobs, in ms.
-- Versions before 0.3 wrote no time; then all jobs with these ids count as jobs of the send.
local SENDS = base .. 'sends'
local SENDS_UNTIL = base .. 'sends_until' -- topic/jobId -> when the entry is examined next, ms

-- Returns the mark, the group, the endpoints and the time of an entry, or nothing if the id has no entry. The time is a
-- text, or nil.
local function send_of(id)
  local entry, time = string.match(call('HGET', SENDS, id) or '', '^([^@]*)@?(%d*)$')
  local words = {}
  for word in string.gmatch(entry or '', '%S+') do words[#words + 1] = word end
  if #words > 2 then return words[1], words[2], {unpack(words, 3)}, time ~= '' and time or nil end
end

local function job_of(id, endpoint) return id .. '~' .. endpoint end

local function was_created(record, time) return not time or string.match(record, '^{"createdAt":(%d+)') == time end

-- Returns whether the pool has a job with this id that was created by a send at this time. time: nil for any job.
local function is_of_send(id, time)
  if not time then return call('HEXISTS', JOBS, id) == 1 end
  local record = call('HGET', JOBS, id)
  if not record then return false end
  record_bytes_left = record_bytes_left - #record
  return was_created(record, time)
end

-- Returns the first of these jobs that is in the pool and was created by a send at this time. time: nil for any job.
local function first_left(id, endpoints, time)
  for i = 1, #endpoints do
    if is_of_send(job_of(id, endpoints[i]), time) then return job_of(id, endpoints[i]) end
  end
end

-- time: a text, or nil
local function note_send(id, mark, group, endpoints, time)
  local entry = mark .. ' ' .. group .. ' ' .. table.concat(endpoints, ' ')
  call('HSET', SENDS, id, time and entry .. ' @' .. time or entry)
end

local function drop_send(id)
  call('HDEL', SENDS, id)
  call('ZREM', SENDS_UNTIL, id)
end

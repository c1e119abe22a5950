-- sends.lua - jobs that were sent to a group, as one job for each of its endpoints.
--
-- The entry of a send is in the shard of its topic. It names the endpoints as they were when the job was sent, so that the jobs
-- can be found and cancelled together after the group has changed. The entry exists as long as one of the
-- jobs is in the pool, and some time longer.
-- uses: keys

local SENDS = base .. 'sends' -- topic/jobId -> 'mark group endpoint endpoint ...', with spaces between
local SENDS_UNTIL = base .. 'sends_until' -- topic/jobId -> when the entry is examined next, ms

-- Returns the mark, the group and the endpoints of an entry, or nothing if the id has no entry.
local function send_of(id)
  local words = {}
  for word in string.gmatch(call('HGET', SENDS, id) or '', '%S+') do words[#words + 1] = word end
  if #words > 2 then return words[1], words[2], {unpack(words, 3)} end
end

local function job_of(id, endpoint) return id .. '~' .. endpoint end

-- Returns the first of these jobs that is in the pool.
local function first_left(id, endpoints)
  for i = 1, #endpoints do
    if call('HEXISTS', JOBS, job_of(id, endpoints[i])) == 1 then return job_of(id, endpoints[i]) end
  end
end

local function drop_send(id)
  call('HDEL', SENDS, id)
  call('ZREM', SENDS_UNTIL, id)
end

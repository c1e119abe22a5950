-- attempts.lua - what is stored about the attempts of jobs: the last ones, and how many consumers were lost.

local Attempts = {uses = {Ranks}}

-- ---- progress ----

-- A worker may report how far its attempt is: JSON text by id, until the attempt ends. Ended.keep then writes the last one
-- into the record.
local function progress() return base .. 'progress' end

function Attempts.note_progress(id, text)
  call('HSET', progress(), id, text)
  is_there[progress()] = true
end

function Attempts.progress(id) return has(progress()) and call('HGET', progress(), id) or nil end

function Attempts.forget_progress(id)
  if has(progress()) then call('HDEL', progress(), id) end
end

-- ---- last attempts ----

-- One line of text is stored for each of the last attempts of a job, see attempt_line.h.

-- Returns lines, the text with a job's last attempts, the oldest first, with line appended. If there are more than
-- ATTEMPTS_MAX lines then, the oldest are left out. If line is empty, returns lines unchanged.
local ATTEMPTS_MAX = 10
function Attempts.with_line(lines, line)
  if line == '' then return lines end
  if lines == '' then return line .. '\n' end
  lines = lines .. line .. '\n'
  local _, number = string.gsub(lines, '\n', '\n')
  for _ = ATTEMPTS_MAX + 1, number do lines = string.sub(lines, string.find(lines, '\n', 1, true) + 1) end
  return lines
end

function Attempts.lines(id) return has(ATTEMPTS) and call('HGET', ATTEMPTS, id) or '' end

function Attempts.note(id, line)
  if line == '' then return end
  call('HSET', ATTEMPTS, id, Attempts.with_line(Attempts.lines(id), line))
  is_there[ATTEMPTS] = true
end

-- Removes the stored attempts of these jobs, their ranks (ranks.lua), and their entries in the index of expiries
-- (expiries.lua). Called when the jobs have ended, or when they begin again without attempts.
function Attempts.forget(ids)
  if has(EXPIRIES) then call('ZREM', EXPIRIES, unpack(ids)) end
  if has(ATTEMPTS) then call('HDEL', ATTEMPTS, unpack(ids)) end
  if has(progress()) then call('HDEL', progress(), unpack(ids)) end
  if has_lanes then Ranks.forget(ids) end
end

-- ---- lost consumers ----

-- CRASHES counts for each job how many consumers were lost while they attempted the job. A lost consumer has crashed,
-- or could not renew its lease.

-- Returns the number of lost consumers in an entry of CRASHES, or 0 if there is no entry.
function Attempts.losses_in(crash) return crash and tonumber(string.match(crash, '^%d+')) or 0 end

-- Returns how many consumers were lost with this job since an attempt last had an outcome.
function Attempts.losses(id) return Attempts.losses_in(call('HGET', CRASHES, id)) end

-- Returns whether the nonce of a lease (or the value in holders:<topic>, which begins with the nonce) belongs to
-- recovery. Recovery leases a job that has lost too many consumers, and then buries the job. The nonces of recovery
-- begin with '!'; those of consumers and workers do not.
function Attempts.is_recovering(nonce_or_claim) return string.byte(nonce_or_claim) == 33 end

-- Removes the count of a job's lost consumers. Called when the job's owner changes the job, and when an attempt has an
-- outcome.
function Attempts.forget_losses(id)
  if has(CRASHES) then call('HDEL', CRASHES, id) end
end

-- Removes the counts and attempts of a job whose record is missing in Redis.
function Attempts.forget_all(id)
  Attempts.forget_losses(id)
  Attempts.forget({id})
end

return Attempts

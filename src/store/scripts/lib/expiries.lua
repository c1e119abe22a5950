-- expiries.lua - an index of the jobs that expire, so that a job is dead when its time is over, wherever it waits.
--
-- The index is not a place of a job, and may be wrong: expire.lua looks up the record of each entry whose time has
-- come, and corrects the entry. An entry that is missing, because an earlier version scheduled the job, is added by the
-- walk of mend.lua; such a job also ends when it is claimed. While an expired job is leased, expire.lua sets its entry
-- to the end of the lease; so each script that puts the job back notes its expiry again.

local Expiries = {uses = {Records}}

-- Entries to write: score, id, score, id ... Nothing is noted without a time.
local expiry_entries = {}
function Expiries.note(id, at)
  if not at then return end
  local number = #expiry_entries
  expiry_entries[number + 1], expiry_entries[number + 2] = at, id
end

-- Notes when the job with this record expires.
function Expiries.note_of(id, record)
  local expires = Records.head(record)
  if expires and expires ~= '0' then Expiries.note(id, expires) end
end

-- Notes the expiry of a job that is put back, and whose record the script does not read otherwise.
function Expiries.note_again(id)
  if not has(EXPIRIES) or not call('ZSCORE', EXPIRIES, id) then return end
  local record = call('HGET', JOBS, id)
  if record then Expiries.note_of(id, record) end
end

-- Writes the entries. An earlier time stays: it may be that of a job with the same id, which a new job did not replace.
function Expiries.write()
  if #expiry_entries == 0 then return end
  call('ZADD', EXPIRIES, 'LT', unpack(expiry_entries))
  expiry_entries = {}
  is_there[EXPIRIES] = true
end

-- Returns the nonce with which bury.lua ends an expired job that waits, if its record is still this one.
function Expiries.nonce(record) return '=' .. string.sub(redis.sha1hex(record), 1, 30) end

-- Returns how many jobs have not ended. Jobs that have expired do not count, although expire.lua may still have to end
-- them; these are counted only if the others exceed a limit.
function Expiries.jobs_below(max_jobs)
  local number = call('HLEN', JOBS)
  if number >= max_jobs and call('EXISTS', EXPIRIES) == 1 then number = number - call('ZCOUNT', EXPIRIES, '-inf', now) end
  return number
end

function Expiries.begin()
  if #expiry_entries > 0 then expiry_entries = {} end
end

return Expiries

-- pull.lua - helpers to end the leases of workers (clients that pull jobs over HTTP), see lease.lua.

local Pull = {uses = {Attempts}}

-- Returns the name of a hash with the jobs that workers have completed with this nonce. Workers send the nonce of their
-- lease as a token. Each field of the hash has the jobs of one call: its name is the first id, and its value has the
-- other ids, as '\n', id, '\n', id ... '\n', or ''. The hash expires after COMPLETED_MS.
local COMPLETED_MS = 60000
local function completed_by(nonce) return base .. 'completed:' .. nonce end

-- Stores which jobs were completed, so that a repeated request is recognised. Called at the end of a script that
-- completes workers' leases. nonces[i] is the nonce of the lease of ids[i].
function Pull.note_completed(ids, nonces)
  local lists = {}
  for i = 1, #ids do
    local list = lists[nonces[i]]
    if not list then
      list = {}
      lists[nonces[i]] = list
    end
    list[#list + 1] = ids[i]
  end
  for nonce, list in pairs(lists) do
    local others = list[2] and '\n' .. table.concat(list, '\n', 2) .. '\n' or ''
    call('HSET', completed_by(nonce), list[1], others)
    call('PEXPIRE', completed_by(nonce), COMPLETED_MS)
  end
end

-- Returns whether the job was already completed with this nonce, in an earlier call or in this one. ids, nonces: the
-- jobs that this call has completed so far, and the nonces of their leases.
function Pull.was_completed(id, nonce, ids, nonces)
  for i = 1, #ids do
    if ids[i] == id and nonces[i] == nonce then return true end
  end
  if call('HEXISTS', completed_by(nonce), id) == 1 then return true end
  local others = call('HVALS', completed_by(nonce))
  for i = 1, #others do
    if string.find(others[i], '\n' .. id .. '\n', 1, true) then return true end
  end
  return false
end

-- Returns the line of text (attempt_line.h) that is stored about the attempt with which a worker has completed a job.
-- began: when the lease began, ms.
function Pull.line_of_completed(id, began)
  began = began or integer(now)
  local number, round, status = string.match(Attempts.lines(id), '(%d+)@?(%d*) %d+ %d+ (%S+)[^\n]*\n$')
  number, round = tonumber(number) or 0, tonumber(round) or 1
  if status and string.find(status, '^2%d%d$') then number, round = 0, round + 1 end
  local name = round > 1 and number + 1 .. '@' .. round or number + 1
  return table.concat({name, began, integer(math.max(0, now - tonumber(began))), '200'}, ' ')
end

return Pull

-- pull.lua - the ends of workers' leases, see lease.lua.
-- uses: attempts clock has kept

-- HASH: the ids of jobs that the token, which is a nonce, has completed. It expires by itself.
local COMPLETED_MS = 60000
local function completed_by(nonce) return base .. 'completed:' .. nonce end

-- By nonce: id, '', id, '' ...
local completed = {}
-- rare: pull
local function note_completed(id, nonce)
  local list = completed[nonce] or {}
  completed[nonce] = list
  list[#list + 1] = id
  list[#list + 1] = ''
end

-- The end of a script that notes such jobs.
-- rare: pull
local function write_completed()
  for nonce, list in pairs(completed) do
    call('HSET', completed_by(nonce), unpack(list))
    call('PEXPIRE', completed_by(nonce), COMPLETED_MS)
  end
end

-- rare: pull
local function was_completed(id, nonce)
  local list = completed[nonce] or {}
  for i = 1, #list, 2 do
    if list[i] == id then return true end
  end
  return call('HEXISTS', completed_by(nonce), id) == 1
end

-- Returns the line (attempt_line.h) of the attempt that a worker has completed. claim: the note of its claim.
-- rare: pull
local function line_of_completed(id, claim)
  local began = string.match(claim, '^%S+ (%d+)') or integer(now)
  local number, round, status = string.match(lines_of(id), '(%d+)@?(%d*) %d+ %d+ (%S+)[^\n]*\n$')
  number, round = tonumber(number) or 0, tonumber(round) or 1
  if status and string.find(status, '^2%d%d$') then number, round = 0, round + 1 end
  local name = round > 1 and number + 1 .. '@' .. round or number + 1
  return table.concat({name, began, integer(math.max(0, now - tonumber(began))), '200'}, ' ')
end

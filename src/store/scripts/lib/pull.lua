-- pull.lua - the ends of workers' leases, see lease.lua.
-- uses: attempts clock has kept

-- HASH: the ids of jobs that the token, which is a nonce, has completed. It expires by itself.
local COMPLETED_MS = 60000
local function completed_by(nonce) return base .. 'completed:' .. nonce end

-- By nonce: id, '', id, '' ...
local completed, is_completed = {}, {}
-- rare: pull
local function note_completed(id, nonce)
  local list = completed[nonce] or {}
  completed[nonce] = list
  list[#list + 1] = id
  list[#list + 1] = ''
  is_completed[nonce .. id] = true
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
local function was_completed(id, nonce) return is_completed[nonce .. id] or call('HEXISTS', completed_by(nonce), id) == 1 end

-- Returns the line (attempt_line.h) of the attempt that a worker has completed. claim: the note of its claim.
-- rare: pull
local function line_of_completed(id, claim)
  local started = tonumber(string.match(claim, '^%S+ (%d+)')) or now
  local number, round, status = string.match(lines_of(id), '(%d+)@?(%d*) %d+ %d+ (%S+)[^\n]*\n$')
  number, round = tonumber(number) or 0, tonumber(round) or 1
  if status and string.find(status, '^2%d%d$') then number, round = 0, round + 1 end
  local name = round > 1 and number + 1 .. '@' .. round or number + 1
  return string.format('%s %.0f %.0f 200', name, started, math.max(0, now - started))
end

-- attempts.lua - reads and writes what is stored about the last attempts of jobs: one line of text for each attempt.
-- uses: has

-- Returns lines, the text with a job's last attempts, the oldest first, with line appended. If there are more than
-- ATTEMPTS_MAX lines then, the oldest are left out. If line is empty, returns lines unchanged.
local ATTEMPTS_MAX = 10
local function with_attempt(lines, line)
  if line == '' then return lines end
  if lines == '' then return line .. '\n' end
  lines = lines .. line .. '\n'
  local _, number = string.gsub(lines, '\n', '\n')
  for _ = ATTEMPTS_MAX + 1, number do lines = string.sub(lines, string.find(lines, '\n', 1, true) + 1) end
  return lines
end

local function lines_of(id) return has(ATTEMPTS) and call('HGET', ATTEMPTS, id) or '' end

local function note_attempt(id, line)
  if line == '' then return end
  call('HSET', ATTEMPTS, id, with_attempt(lines_of(id), line))
  is_there[ATTEMPTS] = true
end

-- Removes the stored attempts of these jobs, and their entries in the index of expiries (expiries.lua). Called when the
-- jobs have ended, or when they begin again without attempts.
local function forget_attempts(ids)
  if has(EXPIRIES) then call('ZREM', EXPIRIES, unpack(ids)) end
  if has(ATTEMPTS) then call('HDEL', ATTEMPTS, unpack(ids)) end
end

-- crashes.lua - lost consumers of jobs.
-- uses: has

-- How often the consumer of a job was lost since its last outcome.
local function losses_of(id)
  local crash = call('HGET', CRASHES, id)
  return crash and tonumber(string.match(crash, '^%d+')) or 0
end

-- The owner, or an outcome, has changed the job: its lost consumers are forgotten.
local function forget_crashes(id)
  if has(CRASHES) then call('HDEL', CRASHES, id) end
end

-- death.lua - dead jobs that do not hold their id.
-- uses: keep take

-- Where a topic has a retention, its dead jobs do not hold their id. When the one that has it died; else nothing.
local function death_without_id(id)
  return has(TOPICS) and retention_of(topic_of(id)) and call('ZSCORE', DEAD, id) or nil
end

-- One that does not makes way for a new job. Whether it was so.
local function make_way(id)
  local death = death_without_id(id)
  if not death then return false end
  keep_job(id, 'dead', tonumber(death))
  take(id)
  forget_crashes(id)
  forget_attempts({id})
  return true
end

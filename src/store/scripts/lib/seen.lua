-- seen.lua - finds a job by its id, on condition that it has not changed since the caller read it. A tag is a digest of
-- a job's state, time and record.
-- uses: kept record tag

-- Returns 'pool' if a job that has not ended has this id and one of these tags, 'dead' if a dead job has both, or false
-- if there is no such job. If tags is empty or '*', the tag does not matter. If a job that has not ended and a dead job
-- have the same id, the dead job is found only by its tag. Returns nothing if this call has read as many bytes as it
-- may. If tags is 'alive', finds only a job that has not ended, with any tag.
local function find_seen(id, tags)
  local is_any = tags == '' or tags == '*' or tags == 'alive'
  if call('HEXISTS', JOBS, id) == 1 then
    if is_any then return 'pool' end
    local record = answer_record(id)
    if not record then return end
    if string.find(tags, tag_of(id, record), 1, true) then return 'pool' end
  end
  if tags == 'alive' or not call('ZSCORE', DEAD, id) then return false end
  if is_any then return 'dead' end
  if has_read_enough() then return end
  local state, at, _, record = kept_job(id)
  return state == 'dead' and string.find(tags, tag_text(state, at, record), 1, true) ~= nil and 'dead'
end

-- seen.lua - finds a job by its id, if it is unchanged since the caller read it.
-- uses: kept record tag

-- Returns 'pool', or 'dead' for a kept dead job, or false if neither matches tags. tags: one or several tags, one of
-- which must match; if tags is empty or '*', any job matches. A job of the pool and a dead job may have the same id;
-- the dead job is then found only by its tag. Returns nothing if this call has reached its limit of bytes.
local function find_seen(id, tags)
  local is_any = tags == '' or tags == '*'
  if call('HEXISTS', JOBS, id) == 1 then
    if is_any then return 'pool' end
    local record = answer_record(id)
    if not record then return end
    if string.find(tags, tag_of(id, record), 1, true) then return 'pool' end
  end
  if not call('ZSCORE', DEAD, id) then return false end
  if is_any then return 'dead' end
  if has_read_enough() then return end
  local state, at, _, record = kept_job(id)
  return state == 'dead' and string.find(tags, tag_text(state, at, record), 1, true) ~= nil and 'dead'
end

-- seen.lua - which job of an id is as the caller saw it.
-- uses: kept record tag

-- 'pool', or 'dead' for the dead one that is kept; false: none is. tags is empty when any will do, '*' for any that exists,
-- else one tag or several. Where a job of the pool has the id, only a tag names the dead one. Nothing: this call has read
-- enough.
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

-- tags.lua - finds a job as its caller has seen it: by its id and its tag, a digest of its state, time and record.

local Tags = {uses = {Ended, Leases, Records}}

-- Returns a tag, which changes whenever the job changes: the same tag as the C function job_tag_of. at: due time, or
-- time of the end. For a leased job, at is ignored: it is the deadline of the lease, which renewals change all the
-- time.
function Tags.text(state, at, record)
  if state == 'leased' then at = 0 end
  return redis.sha1hex(table.concat({state, integer(math.floor(at)), record}, ' '))
end

-- Returns the tag of a job that has not ended, with this id and record. A request to change the job can name the tag,
-- and is refused if the job has changed since it was read.
function Tags.of(id, record)
  local state, score = Leases.locate(id)
  return Tags.text(state or 'nowhere', tonumber(score) or 0, record)
end

-- Returns 'pool' if a job that has not ended has this id and one of these tags, 'dead' if a dead job has both, or false
-- if there is no such job. If tags is empty or '*', the tag does not matter. If a job that has not ended and a dead job
-- have the same id, the dead job is found only by its tag. Returns nothing if this call has read as many bytes as it
-- may. If tags is 'alive', finds only a job that has not ended, with any tag.
function Tags.find(id, tags)
  local is_any = tags == '' or tags == '*' or tags == 'alive'
  if call('HEXISTS', JOBS, id) == 1 then
    if is_any then return 'pool' end
    local record = Records.read(id)
    if not record then return end
    if string.find(tags, Tags.of(id, record), 1, true) then return 'pool' end
  end
  if tags == 'alive' or not call('ZSCORE', DEAD, id) then return false end
  if is_any then return 'dead' end
  if Records.has_read_enough() then return end
  local state, at, _, record = Ended.read(id)
  return state == 'dead' and string.find(tags, Tags.text(state, at, record), 1, true) ~= nil and 'dead'
end

return Tags

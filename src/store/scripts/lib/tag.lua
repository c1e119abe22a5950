-- tag.lua - names a job as it is, so that a change can depend on it.
-- uses: locate record

-- Names a job as it is, for who wants to change it only if it is still so (store_job_tag in C does the same): its
-- state, its place, except in a lease that is renewed all the time, and its record.
local function tag_of(id, record)
  local state, score = locate(id)
  if not state or state == 'leased' then score = 0 end
  return redis.sha1hex(table.concat({state or 'nowhere', integer(tonumber(score)), record}, ' '))
end

-- Whether a job is as whoever asks saw it: tags is empty when they don't mind, '*' for any that is there, else one
-- tag or several. Nothing: ask again, in another call.
local function is_as_seen(id, tags)
  if tags == '' then return true end
  if call('HEXISTS', JOBS, id) == 0 then return false end
  if tags == '*' then return true end
  local record = answer_record(id)
  if record then return string.find(tags, tag_of(id, record), 1, true) ~= nil end
end

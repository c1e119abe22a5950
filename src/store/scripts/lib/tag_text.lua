-- tag_text.lua - computes a tag: a digest of a job's state, time and record, which changes whenever the job changes.
-- uses: clock

-- Returns the same tag as the C function job_tag_of. at: due time, or time of the end. For a leased job, at is
-- ignored: it is the deadline of the lease, which renewals change all the time.
local function tag_text(state, at, record)
  if state == 'leased' then at = 0 end
  return redis.sha1hex(table.concat({state, integer(math.floor(at)), record}, ' '))
end

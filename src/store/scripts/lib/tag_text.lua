-- tag_text.lua - makes a tag from a job's state, place and record.
-- uses: clock

-- store_job_tag in C makes the same tag. The tag does not cover the deadline of a lease, because renewals
-- change it all the time.
local function tag_text(state, at, record)
  if state == 'leased' then at = 0 end
  return redis.sha1hex(table.concat({state, integer(math.floor(at)), record}, ' '))
end

-- tag_text.lua - names a job as it was seen.
-- uses: clock

-- store_job_tag in C does the same. A lease's deadline is not part of it, as renewals move it all the time.
local function tag_text(state, at, record)
  if state == 'leased' then at = 0 end
  return redis.sha1hex(table.concat({state, integer(math.floor(at)), record}, ' '))
end

-- locate.lua - finds whether an id is in the leases or in its topic's bucket.
-- uses: due leases topic

-- Returns the state of the job and the score of its id, or nothing if the id is neither in the leases nor in the
-- bucket.
local function locate(id)
  local score = deadline_of(id)
  if score then return 'leased', score end
  score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then return is_due(score) and 'ready' or 'delayed', score end
end

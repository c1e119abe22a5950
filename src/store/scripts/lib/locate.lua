-- locate.lua - finds whether an id is in the leases or in its topic's bucket.
-- uses: due leases topic

-- Returns the state of a job ('leased', 'ready' or 'delayed') and the score of its id there: the lease's deadline or
-- the due time. Returns nothing if the id is neither in the leases nor among the topic's waiting jobs (its bucket).
local function locate(id)
  local score = deadline_of(id)
  if score then return 'leased', score end
  score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then return is_due(score) and 'ready' or 'delayed', score end
end

-- locate.lua - finds the place of an id.
-- uses: due leases topic

-- Returns the place of an id and its score there, or nothing if the id has no place.
local function locate(id)
  local score = deadline_of(id)
  if score then return 'leased', score end
  score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then return is_due(score) and 'ready' or 'delayed', score end
end

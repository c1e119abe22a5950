-- locate.lua - where an id is.
-- uses: due topic

-- Where an id is, and its score there; nothing when it is nowhere.
local function locate(id)
  local score = call('ZSCORE', LEASES, id)
  if score then return 'leased', score end
  score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then return is_due(score) and 'ready' or 'delayed', score end
end

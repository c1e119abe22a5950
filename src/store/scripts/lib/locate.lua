-- locate.lua - where an id is.
-- uses: clock topic

-- Where an id is, and its score there; nothing when it is nowhere.
local function locate(id)
  local score = call('ZSCORE', LEASES, id)
  if score then return 'leased', score end
  score = call('ZSCORE', bucket_of(topic_of(id)), id)
  if score then return tonumber(score) > now and 'delayed' or 'ready', score end
end

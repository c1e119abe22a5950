-- url.lua - checks that a job without a url has a topic with a url.
-- uses: settings topic

-- Returns whether a job needs a url, but neither the job nor its topic has one.
local function lacks_url(id, record)
  if not string.find(record, '^[^u]-"url":""') then return false end
  local own = settings_of(topic_of(id))
  return not own.url and own.delivery ~= 'pull'
end

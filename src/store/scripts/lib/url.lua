-- url.lua - checks that a job without a url has a topic with a url.
-- uses: settings topic

-- Returns whether neither the job nor its topic has a url.
local function lacks_url(id, record) return string.find(record, '^[^u]-"url":""') and not settings_of(topic_of(id)).url end

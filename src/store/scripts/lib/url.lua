-- url.lua - jobs that bring no url need a topic that has one.
-- uses: settings topic

-- A job that brings no url needs a topic that has one.
local function lacks_url(id, record) return string.find(record, '^[^u]-"url":""') and not settings_of(topic_of(id)).url end

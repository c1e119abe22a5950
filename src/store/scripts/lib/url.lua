-- url.lua - checks whether a job without a url belongs to a topic that has one.
-- uses: settings topic

-- rare: settings
local function needs_no_url(topic) return settings_of(topic).url or is_pull(topic) end

-- Returns whether neither the job nor its topic has a url, although the job needs one.
local function lacks_url(id, record) return string.find(record, '^[^u]-"url":""') and not needs_no_url(topic_of(id)) end

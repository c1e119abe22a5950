-- url.lua - checks whether a job without a url belongs to a topic that has one.
-- uses: head settings topic

-- Returns whether jobs of the topic need no url of their own.
-- rare: settings
local function needs_no_url(topic) return settings_of(topic).url or is_pull(topic) end

-- Returns whether neither the job nor its topic has a url, although the job needs one. record: a record, or that of a
-- new job, which still lacks its beginning (when.lua).
local function lacks_url(id, record)
  local flags = string.match(record, '^"head":"1 %S+ %d+ %d+ (%S+)') or select(2, head_of(record))
  if flags and not string.find(flags, 'u', 1, true) then return false end
  if not flags then
    local job = members_of(string.byte(record) == 123 and record or '{' .. record)
    if not job or job.url ~= '' then return false end
  end
  return not needs_no_url(topic_of(id))
end

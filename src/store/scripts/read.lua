#!lua flags=no-writes
-- read.lua - jobs as they are.
--
-- ARGV from 2: id, ...
-- Returns {now_us, result ...}: {} no such job, {state, due or death or deadline, record, lost consumers,
-- settings of its topic or ''}, or -2 when the answer has become too long: ask again.
local replies = {now_us}
for i = 2, #ARGV do
  local id = ARGV[i]
  if call('HEXISTS', JOBS, id) == 0 then
    replies[i] = {}
  else
    local record = answer_record(id)
    local state, score = locate(id)
    replies[i] = record and {
      state or 'ready', -- nowhere: the janitor will make it ready
      tonumber(score) or now, record, losses_of(id), settings_text_of(topic_of(id)),
    } or -2
  end
end
return replies

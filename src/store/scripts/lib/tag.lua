-- tag.lua - names a job as it is, so that a change can depend on it.
-- uses: locate record tag_text

-- Names a job as it is, for a change that depends on it.
local function tag_of(id, record)
  local state, score = locate(id)
  return tag_text(state or 'nowhere', tonumber(score) or 0, record)
end

-- Whether a job is as whoever asks saw it: tags is empty when they don't mind, '*' for any that is there, else one
-- tag or several. Nothing: ask again, in another call.
local function is_as_seen(id, tags)
  if tags == '' then return true end
  if call('HEXISTS', JOBS, id) == 0 then return false end
  if tags == '*' then return true end
  local record = answer_record(id)
  if record then return string.find(tags, tag_of(id, record), 1, true) ~= nil end
end

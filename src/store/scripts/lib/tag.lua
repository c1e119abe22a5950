-- tag.lua - computes the tag of a job that has not ended: a digest of its state, time and record. A request to change
-- the job can name the tag, and is refused if the job has changed since it was read.
-- uses: locate tag_text

-- Returns the tag of the job with this id and record.
local function tag_of(id, record)
  local state, score = locate(id)
  return tag_text(state or 'nowhere', tonumber(score) or 0, record)
end

-- tag.lua - makes the tag of a job in the pool, so that a change can depend on the job's version.
-- uses: locate tag_text

-- Returns the tag of a job of the pool.
local function tag_of(id, record)
  local state, score = locate(id)
  return tag_text(state or 'nowhere', tonumber(score) or 0, record)
end

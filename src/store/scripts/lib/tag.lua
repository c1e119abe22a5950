-- tag.lua - computes the tag of a job in the pool. A change can then require that the job is still as the caller read
-- it.
-- uses: locate tag_text

-- Returns the tag of a job of the pool.
local function tag_of(id, record)
  local state, score = locate(id)
  return tag_text(state or 'nowhere', tonumber(score) or 0, record)
end

-- tag.lua - names a job as it is, so that a change can depend on it.
-- uses: locate tag_text

-- Names a job of the pool as it is.
local function tag_of(id, record)
  local state, score = locate(id)
  return tag_text(state or 'nowhere', tonumber(score) or 0, record)
end

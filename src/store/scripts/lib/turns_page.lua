-- turns_page.lua - walks through the topics of the set turns, in bounded steps.
-- uses: offer

-- Returns the topics with a higher score than the given one, up to the last score: at most the given number,
-- and then all topics whose score equals that of the last one. Also returns this score if there may be more
-- topics.
local function turns_page(score, last, most)
  local entries, topics, is_known = call('ZRANGEBYSCORE', TURNS, '(' .. score, last, 'WITHSCORES', 'LIMIT', 0, most), {}, {}
  for i = 1, #entries, 2 do
    topics[#topics + 1] = entries[i]
    is_known[entries[i]] = true
  end
  if #topics < most then return topics end
  local end_score = entries[#entries]
  for _, topic in ipairs(call('ZRANGEBYSCORE', TURNS, end_score, end_score)) do
    if not is_known[topic] then topics[#topics + 1] = topic end
  end
  return topics, end_score
end

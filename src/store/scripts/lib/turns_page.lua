-- turns_page.lua - reads the topics of the sorted set "turns" (topics that may be served now) page by page.
-- uses: offer

-- Returns the next topics (maximum: most) whose scores are above score and not above last, and all further topics
-- whose score is that of the last one. If there may be more topics, also returns this score, with which the next page
-- begins.
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

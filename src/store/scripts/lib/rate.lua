-- rate.lua - how many attempts of a topic may begin.
-- uses: clock settings

local RATES = base .. 'rates' -- topic -> the time, us, up to which its rate is spent

-- A topic's rate: us from one attempt to the next, us that may be spent ahead, and the time, us, up to which
-- it is spent. Before now nothing is left over; later than ahead allows, the clock must have stepped back.
local function rate_of(topic)
  local rate = settings_of(topic).rate
  if not rate then return end
  local step = math.ceil(rate.per * 1000000 / rate.jobs)
  local ahead = rate.burst * step
  local spent = tonumber(call('HGET', RATES, topic)) or 0
  return step, ahead, math.max(now_us, math.min(spent, now_us + ahead))
end

-- How many attempts may begin now by the rate, and when the next one may, ms.
local function tokens_of(topic)
  local step, ahead, spent = rate_of(topic)
  if not step then return math.huge end
  return math.floor((now_us + ahead - spent) / step), math.ceil((spent + step - ahead) / 1000)
end

local function spend_tokens(topic, number)
  local step, _, spent = rate_of(topic)
  if step and number > 0 then call('HSET', RATES, topic, integer(spent + number * step)) end
end

-- Of one claim, at since, ms, so many attempts have not begun. What the time since then has let through already, for the
-- first of them, does not come back, too: attempts that do begin keep to the rate exactly.
local function return_tokens(topic, number, since)
  local step, _, spent = rate_of(topic)
  local unused = step and number * step - math.max(0, now_us - since * 1000) or 0
  if unused > 0 then call('HSET', RATES, topic, integer(spent - unused)) end
end

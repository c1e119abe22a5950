-- rate.lua - decides how many attempts of a topic may begin.
--
-- A rate is a token bucket with two additions:
-- - While a due job waits, up to CREDIT_US of tokens beyond the burst accumulate. Without them, each late wake-up would
-- lower the rate.
-- - In any second, no more attempts begin than the rate and the burst together. Slots count the attempts of
-- the last second. A rate with a window counts the attempts in its current window instead. If the setting of the window
-- is added to a rate or removed from it, the count starts at 0.
-- uses: clock settings

local RATES = base .. 'rates' -- topic -> the time, us, up to which its rate is spent
local CREDIT_US, SECOND_US, SLOT_US = 100000, 1000000, 2000

-- HASH: slot (counted since 1970) -> number of attempts that began in it; sum -> their sum; first -> the
-- first slot that counts. The key expires. A rate with a window uses the key in another way, see window_of.
local function begun_of(topic) return base .. 'begun:' .. topic end

local function first_due_of(topic) return tonumber(call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')[2]) or now end

-- Returns a topic's rate: us from one attempt to the next, us that may be spent ahead, and the time, us, up to which
-- the rate is spent. If this time is later than possible, because the clock has stepped back or the rate was changed,
-- the latest possible time is returned instead. An offer also writes the corrected time; otherwise it would be computed
-- anew in each call, and would move with the clock.
local function rate_of(topic, is_offer)
  local rate = settings_of(topic).rate
  if not rate then return end
  local step = rate.per * 1000000 / rate.jobs
  local ahead = rate.burst * step
  local spent = tonumber(call('HGET', RATES, topic)) or 0
  if spent ~= spent then spent = 0 end -- the stored number is nan, which duepost does not write
  local latest, rounding = now_us + ahead, step / 100000 + 1
  if is_offer and spent > latest + rounding then call('HSET', RATES, topic, integer(math.ceil(latest))) end
  return step, ahead, math.min(spent, latest)
end

-- Returns the time, us, up to which the rate is spent, including the tokens that have accumulated since the first
-- waiting job became due. first_due: when this job became due, ms; read from Redis if absent.
local function spent_since(topic, spent, first_due)
  return math.max(spent, now_us - CREDIT_US, math.min(math.floor(first_due or first_due_of(topic)) * 1000, now_us))
end

-- Rounds down. A little is added first, because a quotient may be slightly less than the exact integer.
local function whole(number) return math.floor(number + 0.000001) end

-- Returns the number of attempts that began in the last second, the first slot that counts, and the slots that no
-- longer count. The third result is absent if all slots are too old or invalid, for example after a step of the clock.
-- In that case, the whole key must be deleted.
local function begun_in_second(topic)
  local first = math.floor((now_us - SECOND_US) / SLOT_US)
  local known = call('HMGET', begun_of(topic), 'sum', 'first', 'window')
  local sum, known_first = tonumber(known[1]) or 0, tonumber(known[2]) or first
  if known[3] or first - known_first > SECOND_US / SLOT_US or known_first * SLOT_US > now_us then return 0, first end
  local gone = {}
  for slot = known_first, first - 1 do gone[#gone + 1] = integer(slot) end
  for _, number in ipairs(#gone > 0 and call('HMGET', begun_of(topic), unpack(gone)) or {}) do
    sum = sum - (tonumber(number) or 0)
  end
  return sum, math.max(first, known_first), gone
end

-- Returns the time, us, at which the first slot with attempts no longer belongs to the last second.
local function next_leaving(topic, first)
  local LOOK = 50
  for from = first, first + SECOND_US / SLOT_US, LOOK do
    local slots = {}
    for slot = from, from + LOOK - 1 do slots[#slots + 1] = integer(slot) end
    for i, number in ipairs(call('HMGET', begun_of(topic), unpack(slots))) do
      if tonumber(number) then return (from + i) * SLOT_US + SECOND_US end
    end
  end
  return now_us
end

-- Returns the time of the last reset, us, or 0. This time may be slightly in the future, because the process that
-- resets uses its own clock and rounds up. A time far in the future was written before a clock stepped back,
-- and is ignored.
-- rare: rate
local function reset_of(rate)
  local reset = (rate.since or 0) * 1000
  return reset > now_us + SECOND_US and 0 or reset
end

-- Returns the current window of a rate with a window. The attempts of a window may begin at any time in it. The key of
-- begun_of has the beginning of the window, us, and the number of its attempts. A window begins with an attempt, and
-- ends after its length, or with a reset (rate.since, ms). Returns nothing if there is no window, for example after
-- the clock stepped back.
-- rare: rate
local function window_of(topic, rate)
  local known = call('HMGET', begun_of(topic), 'window', 'number')
  local began, reset = tonumber(known[1]), reset_of(rate)
  if not began or began > math.max(now_us, reset) or began < reset or now_us >= began + rate.per * 1000000 then return end
  return began, tonumber(known[2]) or 0
end

-- rare: rate
local function tokens_of_window(topic, rate)
  local began, number = window_of(topic, rate)
  local left = rate.jobs - (number or 0)
  return left, left > 0 and soonest or math.max(soonest, math.ceil((began + rate.per * 1000000) / 1000))
end

-- Adds attempts to a window, or begins one.
-- rare: rate
local function spend_window(topic, rate, number)
  local began, before = window_of(topic, rate)
  local key = begun_of(topic)
  if not began then call('DEL', key) end
  began = began or math.max(now_us, reset_of(rate)) -- window_of ignores a window that began before the reset
  call('HSET', key, 'window', integer(began), 'number', integer((before or 0) + number))
  call('PEXPIRE', key, integer(math.ceil((began - now_us) / 1000 + rate.per * 1000) + 1000))
end

-- rare: rate
local function return_to_window(topic, rate, number, since)
  local began, before = window_of(topic, rate)
  if began and began < (since + 1) * 1000 then
    call('HSET', begun_of(topic), 'number', integer(math.max(0, before - number)))
  end
end

-- Returns how many attempts the rate allows now, and the time at which it allows the next one, ms.
-- rare: rate
local function tokens_of(topic, first_due, is_offer)
  local own = settings_of(topic).rate
  if own and own.window then return tokens_of_window(topic, own) end
  local step, ahead, spent = rate_of(topic, is_offer)
  if not step then return math.huge end
  spent = spent_since(topic, spent, first_due)
  local tokens = whole((ahead + (now_us - spent)) / step)
  if tokens < 1 then return tokens, math.max(soonest, math.ceil((spent + (step - ahead)) / 1000)) end
  local rate, sum, first = settings_of(topic).rate, begun_in_second(topic)
  local left = whole(rate.jobs / rate.per) + rate.burst - sum
  if left < 1 then return left, math.max(soonest, math.ceil(next_leaving(topic, first) / 1000)) end
  return math.min(tokens, left), soonest
end

-- Spends tokens. first_due must have the same value as in the call of tokens_of.
-- rare: rate
local function spend_tokens(topic, number, first_due)
  local own = settings_of(topic).rate
  if own and own.window and number > 0 then return spend_window(topic, own, number) end
  local step, _, spent = rate_of(topic)
  if not step or number == 0 then return end
  call('HSET', RATES, topic, integer(math.ceil(spent_since(topic, spent, first_due) + number * step)))
  local key = begun_of(topic)
  local sum, first, gone = begun_in_second(topic)
  if not gone then call('DEL', key) elseif #gone > 0 then call('HDEL', key, unpack(gone)) end
  call('HINCRBY', key, integer(math.floor(now_us / SLOT_US)), number)
  call('HSET', key, 'sum', sum + number, 'first', integer(first))
  call('PEXPIRE', key, 2000)
end

-- Gives tokens back to the rate, because the attempts of one claim have not begun. since: when this claim was sent, ms.
-- rare: rate
local function return_tokens(topic, number, since)
  local own = settings_of(topic).rate
  if own and own.window then return return_to_window(topic, own, number, since) end
  local step, _, spent = rate_of(topic)
  if not step then return end
  local late = math.max(0, now_us - since * 1000 - CREDIT_US)
  if number * step > late then call('HSET', RATES, topic, integer(math.ceil(spent - number * step + late))) end
  local slot = integer(math.floor(since * 1000 / SLOT_US))
  local began = tonumber(call('HGET', begun_of(topic), slot)) or 0
  local back = math.min(began, number)
  if back == 0 then return end
  call('HINCRBY', begun_of(topic), slot, -back)
  call('HINCRBY', begun_of(topic), 'sum', -back)
end

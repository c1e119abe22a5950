-- rates.lua - decides how many attempts of a topic may begin now, by the topic's setting rate: rate.jobs attempts in
-- rate.per seconds, and a burst.
--
-- A rate is a token bucket with two additions:
-- - While a due job waits, tokens accumulate beyond the burst, but not for longer than Rates.CREDIT_US. Without this,
--   each wake-up that comes late would lower the rate.
-- - In any second, no more attempts begin than the rate allows in a second, plus the burst. To check this, the attempts
--   of the last second are counted in slots of SLOT_US each.
-- A rate with the setting window is not a token bucket: it counts the attempts of its current window instead. If this setting is added or removed, the count starts at 0.

local Rates = {uses = {}}

Rates.CREDIT_US = 100000
local SECOND_US, SLOT_US = 1000000, 2000

-- A hash with the attempts of the last second: slot (numbered since 1970) -> number of attempts that began in it; 'sum'
-- -> the sum of these numbers; 'first' -> the first slot that is in the sum. The key expires. For a rate with a window,
-- the hash has other fields, see Rates.window.
function Rates.begun_key(topic) return base .. 'begun:' .. topic end

-- Returns when the first waiting job of a topic is due, ms.
function Rates.first_due_of(topic) return tonumber(call('ZRANGE', bucket_of(topic), 0, 0, 'WITHSCORES')[2]) or now end

-- RATES has the time up to which a topic's tokens are spent. There may be very many lanes (lanes.lua), whose times are
-- in the hash with the attempts of the last second, which expires.
local function is_lane(topic) return string.find(topic, '\n', 1, true) end
local function read_spent(topic)
  if is_lane(topic) then return call('HGET', Rates.begun_key(topic), 'spent') end
  return call('HGET', RATES, topic)
end

local function write_spent(topic, us)
  if is_lane(topic) then
    local key = Rates.begun_key(topic)
    if call('EXISTS', key) == 1 then call('HSET', key, 'spent', integer(math.ceil(us))) end
  else
    call('HSET', RATES, topic, integer(math.ceil(us)))
  end
end

-- Returns three values in us: the interval from one attempt to the next; the time by which the burst lets attempts
-- begin ahead of these intervals; and the time up to which the tokens are spent. After a step of the clock or a change
-- of the rate, the stored time may be later than a burst can explain; the latest possible time is then returned
-- instead. If is_offer is set (turns.lua), this time is also stored. Otherwise each later call would compute the time
-- anew, and the time would move with the clock.
local function rate_of(topic, is_offer)
  local rate = settings_of(topic).rate
  if not rate then return end
  local step = rate.per * 1000000 / rate.jobs
  local ahead = rate.burst * step
  local spent = tonumber(read_spent(topic)) or 0
  if spent ~= spent then spent = 0 end -- the stored text is nan, which duepost does not write
  local latest, rounding = now_us + ahead, step / 100000 + 1
  if is_offer and spent > latest + rounding then write_spent(topic, latest) end
  return step, ahead, math.min(spent, latest)
end

-- Returns the time, us, up to which the tokens of the topic are spent. Tokens that accumulated before the first waiting
-- job became due are limited to the burst. spent: the third result of rate_of. first_due: when this job became due, ms;
-- read from Redis if absent.
local function spent_since(topic, spent, first_due)
  return math.max(spent, now_us - Rates.CREDIT_US, math.min(math.floor(first_due or Rates.first_due_of(topic)) * 1000, now_us))
end

-- Rounds a quotient down. A little is added first, because the quotient may be slightly less than the integer that it
-- stands for.
local function whole(number) return math.floor(number + 0.000001) end

-- Returns the number of attempts that began in the last second, the first slot of this second, and a list of the stored
-- slots before it, which must be removed. The list is absent if all stored slots are too old or invalid, for example
-- after a step of the clock; then the whole key must be deleted.
local function begun_in_second(topic)
  local first = math.floor((now_us - SECOND_US) / SLOT_US)
  local known = call('HMGET', Rates.begun_key(topic), 'sum', 'first', 'window')
  local sum, known_first = tonumber(known[1]) or 0, tonumber(known[2]) or first
  if known[3] or first - known_first > SECOND_US / SLOT_US or known_first * SLOT_US > now_us then return 0, first end
  local gone = {}
  for slot = known_first, first - 1 do gone[#gone + 1] = integer(slot) end
  for _, number in ipairs(#gone > 0 and call('HMGET', Rates.begun_key(topic), unpack(gone)) or {}) do
    sum = sum - (tonumber(number) or 0)
  end
  return sum, math.max(first, known_first), gone
end

-- Returns the time, us, at which the number of attempts in the last second next becomes smaller: one second after the
-- first slot that has attempts.
local function next_leaving(topic, first)
  local LOOK = 50
  for from = first, first + SECOND_US / SLOT_US, LOOK do
    local slots = {}
    for slot = from, from + LOOK - 1 do slots[#slots + 1] = integer(slot) end
    for i, number in ipairs(call('HMGET', Rates.begun_key(topic), unpack(slots))) do
      if tonumber(number) then return (from + i) * SLOT_US + SECOND_US end
    end
  end
  return now_us
end

-- Returns when a client last reset the rate's window (rate.since), us, or 0. This time may be slightly in the future,
-- because the process that served the client uses its own clock and rounds up. A time far in the future was written
-- before a clock stepped back, and is ignored.
local function reset_of(rate)
  local reset = (rate.since or 0) * 1000
  return reset > now_us + SECOND_US and 0 or reset
end

-- For a rate with a window: returns when the current window began, us, and how many attempts have begun in it. The hash
-- of Rates.begun_key has these two as 'window' and 'number'. A window begins with an attempt, and ends after rate.per
-- seconds or with a reset (rate.since). In a window, rate.jobs attempts may begin at any time. Returns nothing if no
-- window has begun, or if the stored one began in the future, because the clock has stepped back.
function Rates.window(topic, rate)
  local known = call('HMGET', Rates.begun_key(topic), 'window', 'number')
  local began, reset = tonumber(known[1]), reset_of(rate)
  if not began or began > math.max(now_us, reset) or began < reset or now_us >= began + rate.per * 1000000 then return end
  return began, tonumber(known[2]) or 0
end

local function tokens_of_window(topic, rate)
  local began, number = Rates.window(topic, rate)
  local left = rate.jobs - (number or 0)
  return left, left > 0 and soonest or math.max(now + 1, math.ceil((began + rate.per * 1000000) / 1000))
end

-- Adds attempts to the current window, or begins a window.
local function spend_window(topic, rate, number)
  local began, before = Rates.window(topic, rate)
  local key = Rates.begun_key(topic)
  if not began then call('DEL', key) end
  began = began or math.max(now_us, reset_of(rate)) -- Rates.window ignores a window that began before the reset
  call('HSET', key, 'window', integer(began), 'number', integer((before or 0) + number))
  call('PEXPIRE', key, integer(math.ceil((began - now_us) / 1000 + rate.per * 1000) + 1000))
end

local function return_to_window(topic, rate, number, since)
  local began, before = Rates.window(topic, rate)
  if began and began < (since + 1) * 1000 then
    call('HSET', Rates.begun_key(topic), 'number', integer(math.max(0, before - number)))
  end
end

-- Returns when fewer jobs than a batch has may be attempted together, of which the first is due at this time. Returns
-- nothing if they may be attempted now.
function Rates.batch_opens(batch, first_due)
  local at = math.ceil(first_due + (batch.wait or 0) * 1000)
  if at > now then return at end
end

-- Returns when jobs may be attempted that are delivered together (setting batch of the topic): when as many as one batch
-- are due, or the first of them has waited for batch.wait. Returns nothing if they may be attempted now. waiting: the key of
-- the waiting jobs of the topic, or of one of its lanes.
function Rates.batch_at(topic, waiting, first_due)
  local batch = settings_of(topic).batch
  if not batch then return end
  local at = Rates.batch_opens(batch, first_due)
  if not at then return end
  local last = call('ZRANGE', waiting, batch.size - 1, batch.size - 1, 'WITHSCORES')[2]
  if last then at = math.min(at, math.floor(tonumber(last))) end
  if at > now then return integer(at) end
end

-- Returns how many attempts the topic's rate allows to begin now, and the time at which it allows the next one, ms. This time
-- is later than now if none may begin now, although a quotient may say otherwise by a fraction of a us: a manual clock
-- would not get beyond it.
function Rates.tokens(topic, first_due, is_offer)
  local own = settings_of(topic).rate
  if own and own.window then return tokens_of_window(topic, own) end
  local step, ahead, spent = rate_of(topic, is_offer)
  if not step then return math.huge end
  spent = spent_since(topic, spent, first_due)
  local tokens = whole((ahead + (now_us - spent)) / step)
  if tokens < 1 then return tokens, math.max(now + 1, math.ceil((spent + (step - ahead)) / 1000)) end
  local rate, sum, first = settings_of(topic).rate, begun_in_second(topic)
  local left = whole(rate.jobs / rate.per) + rate.burst - sum
  if left < 1 then return left, math.max(now + 1, math.ceil(next_leaving(topic, first) / 1000)) end
  return math.min(tokens, left), soonest
end

-- Counts attempts that begin now: spends a token for each. first_due must have the same value as in the call of
-- Rates.tokens.
function Rates.spend(topic, number, first_due)
  local own = settings_of(topic).rate
  if own and own.window and number > 0 then return spend_window(topic, own, number) end
  local step, _, spent = rate_of(topic)
  if not step or number == 0 then return end
  local key, spent_then = Rates.begun_key(topic), spent_since(topic, spent, first_due) + number * step
  local sum, first, gone = begun_in_second(topic)
  if not gone then call('DEL', key) elseif #gone > 0 then call('HDEL', key, unpack(gone)) end
  call('HINCRBY', key, integer(math.floor(now_us / SLOT_US)), number)
  call('HSET', key, 'sum', sum + number, 'first', integer(first))
  write_spent(topic, spent_then)
  call('PEXPIRE', key, is_lane(topic) and integer(math.ceil(math.max(0, spent_then - now_us) / 1000) + 2000) or 2000)
end

-- Returns the tokens of attempts that were claimed but have not begun. number: how many attempts, all of one claim.
-- since: when this claim was sent, ms.
function Rates.give_back(topic, number, since)
  local own = settings_of(topic).rate
  if own and own.window then return return_to_window(topic, own, number, since) end
  local step, _, spent = rate_of(topic)
  if not step then return end
  local late = math.max(0, now_us - since * 1000 - Rates.CREDIT_US)
  if number * step > late then write_spent(topic, spent - number * step + late) end
  local slot = integer(math.floor(since * 1000 / SLOT_US))
  local began = tonumber(call('HGET', Rates.begun_key(topic), slot)) or 0
  local back = math.min(began, number)
  if back == 0 then return end
  call('HINCRBY', Rates.begun_key(topic), slot, -back)
  call('HINCRBY', Rates.begun_key(topic), 'sum', -back)
end

return Rates

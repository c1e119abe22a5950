-- fence.lua - checks whether a caller still holds the lease of a job. Each lease has a nonce, which the caller sends
-- with the outcome of its attempt.

local Fence = {uses = {Attempts, Ended, Hours, Places}}

-- Returns whether the job is dead because the consumer with this nonce was lost.
local function died_with(id, nonce)
  if call('HEXISTS', JOBS, id) == 1 or not call('ZSCORE', DEAD, id) then return false end
  local _, _, _, _, _, last = Ended.read(id)
  return last == nonce
end

-- Returns 'late', 'dead' or nothing for an outcome that comes after its lease was lost; Fence.verdicts explains these
-- words.
local function late_verdict(id, nonce)
  local crash = call('HGET', CRASHES, id)
  if crash then return string.match(crash, '%S+$') == nonce and 'late' or nil end
  return died_with(id, nonce) and 'dead' or nil
end

-- Does the same as late_verdict if recovery now holds the lease. Returns nothing if another consumer or a worker holds
-- it.
local function verdict_of_other(id, nonce, claim) return Attempts.is_recovering(claim) and late_verdict(id, nonce) or nil end

-- Checks the nonces of a list of items. The items begin at ARGV[first]; each has size arguments, and its first two are
-- the id of a job and a nonce. Returns a verdict for each item. 'lease': the lease with this nonce is the job's current
-- lease. 'late': this lease was lost, and since then the job was not changed and not leased, except by recovery, which
-- leases jobs to bury them. 'dead': the job was buried because of that loss and was not changed since (Ended.bring_back
-- can undo it). Nothing in all other cases. If two items have the same id, only the first one gets a verdict, because
-- it ends the lease. A script that does not end leases sets keeps_lease; then both items get a verdict. The second
-- result has for each item whose job is leased its value in holders:<topic>, which begins with the nonce of the lease.
function Fence.verdicts(first, size, keeps_lease)
  local topics, ids, numbers, number, topic = {}, {}, {}, 0, nil
  local its_ids, its_numbers
  for i = first, #ARGV, size do
    local id = ARGV[i]
    number = number + 1
    if topics_of[id] ~= topic then
      topic = topics_of[id]
      its_ids, its_numbers = ids[topic], numbers[topic]
      if not its_ids then
        its_ids, its_numbers = {}, {}
        ids[topic], numbers[topic] = its_ids, its_numbers
        topics[#topics + 1] = topic
      end
    end
    its_ids[#its_ids + 1] = id
    its_numbers[#its_ids] = number
  end
  local verdicts, claims, has_ended = {}, {}, {}
  local nonce, begin -- most items of a call have the same nonce
  for t = 1, #topics do
    its_ids, its_numbers = ids[topics[t]], numbers[topics[t]]
    local found = call('HMGET', holders_of(topics[t]), unpack(its_ids))
    for k = 1, #found do
      local claim, verdict = found[k], nil
      number = its_numbers[k]
      local its_nonce = ARGV[first + (number - 1) * size + 1]
      if its_nonce ~= nonce then nonce, begin = its_nonce, its_nonce .. ' ' end
      if claim then
        if string.sub(claim, 1, #begin) == begin or claim == nonce then
          verdict = 'lease'
        else
          verdict = verdict_of_other(its_ids[k], nonce, claim)
        end
      elseif has(CRASHES) or has(KEPT) then
        verdict = late_verdict(its_ids[k], nonce)
      end
      if verdict and not (has_repeats and has_ended[its_ids[k]]) then
        verdicts[number], claims[number] = verdict, claim
        if has_repeats then has_ended[its_ids[k]] = not keeps_lease end
      end
    end
  end
  return verdicts, claims
end

-- Removes the id of a job whose delivery is reported after its lease was lost from the leases or from the waiting jobs,
-- and counts the job as delivered.
function Fence.take_late(id)
  Places.take(id)
  Hours.count(topic_of(id), 'd', 1)
end

return Fence

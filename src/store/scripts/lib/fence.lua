-- fence.lua - finds out which nonces hold their leases.
-- uses: crashes kept topic

-- Returns whether the job died when the consumer with this nonce was lost.
local function died_with(id, nonce)
  if call('HEXISTS', JOBS, id) == 1 or not call('ZSCORE', DEAD, id) then return false end
  local _, _, _, _, _, last = kept_job(id)
  return last == nonce
end

-- Returns 'late' or 'dead' for an outcome without a lease, see fence.
-- rare: ended
local function late_verdict(id, nonce)
  local crash = call('HGET', CRASHES, id)
  if crash then return string.match(crash, '%S+$') == nonce and 'late' or nil end
  return died_with(id, nonce) and 'dead' or nil
end

-- Returns the same verdict if only recovery has the lease, and nothing if another consumer or a worker has
-- it.
-- rare: ended
local function verdict_of_other(id, nonce, claim) return is_recovering(claim) and late_verdict(id, nonce) or nil end

-- Returns whether nonce is the first word of a claim's note.
local function begins_with(claim, nonce)
  local behind = string.byte(claim, #nonce + 1)
  return (behind == 32 or not behind) and string.sub(claim, 1, #nonce) == nonce
end

-- Checks the nonces of items that begin with id and nonce, have size arguments, and begin at ARGV[first].
-- Returns for each item: 'lease' when nonce holds the lease; 'late' when the lease was lost but no process
-- holds or has changed the job since, or only recovery holds it; 'dead' when the job died because of that
-- loss and was not changed since, see revive; nothing otherwise. If an earlier item of the call has ended the
-- lease of an id, later items have no lease, unless keeps_lease is set, because the items of that script do
-- not end leases. Second result: the claim's note, 'nonce due', if a process holds the lease.
local function fence(first, size, keeps_lease)
  local topics, ids, numbers = {}, {}, {}
  for i = first, #ARGV, size do
    local id = ARGV[i]
    local topic = topic_of(id)
    local its_ids, its_numbers = ids[topic], numbers[topic]
    if not its_ids then
      its_ids, its_numbers = {}, {}
      ids[topic], numbers[topic] = its_ids, its_numbers
      topics[#topics + 1] = topic
    end
    its_ids[#its_ids + 1] = id
    its_numbers[#its_ids] = (i - first) / size + 1
  end
  local verdicts, claims, has_ended = {}, {}, {}
  for t = 1, #topics do
    local its_ids, its_numbers = ids[topics[t]], numbers[topics[t]]
    local found = call('HMGET', holders_of(topics[t]), unpack(its_ids))
    for k = 1, #found do
      local number, id, claim, verdict = its_numbers[k], its_ids[k], found[k], nil
      local nonce = ARGV[first + (number - 1) * size + 1]
      if claim then
        if begins_with(claim, nonce) then
          verdict = 'lease'
        else
          verdict = verdict_of_other(id, nonce, claim)
        end
      elseif has(CRASHES) or has(KEPT) then
        verdict = late_verdict(id, nonce)
      end
      if verdict and not has_ended[id] then
        verdicts[number], claims[number] = verdict, claim
        has_ended[id] = not keeps_lease
      end
    end
  end
  return verdicts, claims
end

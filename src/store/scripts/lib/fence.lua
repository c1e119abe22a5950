-- fence.lua - which nonces hold their leases.
-- uses: crashes kept topic

-- Whether the job died when the consumer with this nonce was lost.
local function died_with(id, nonce)
  if call('HEXISTS', JOBS, id) == 1 or not call('ZSCORE', DEAD, id) then return false end
  local _, _, _, _, _, last = kept_job(id)
  return last == nonce
end

-- The fence, for items of id, nonce and more, each size arguments long, from ARGV[first] on.
-- Returns by the item's number: 'lease' when nonce holds the lease; 'late' when the lease was lost
-- but nobody holds or has changed the job since; 'dead' when the job died of that loss and was not changed
-- since, see revive; nothing otherwise. Once one of a call's items has ended an id's lease, the later ones have none; keeps_lease: the script's items do not end it.
-- Second result: what the claim noted, 'nonce due', for those with a lease.
local function fence(first, size, keeps_lease)
  local topics, ids, numbers = {}, {}, {}
  for i = first, #ARGV, size do
    local id = ARGV[i]
    local topic = topic_of(id)
    if not ids[topic] then
      topics[#topics + 1] = topic
      ids[topic], numbers[topic] = {}, {}
    end
    local list = ids[topic]
    list[#list + 1] = id
    numbers[topic][#list] = (i - first) / size + 1
  end
  local verdicts, claims, has_ended = {}, {}, {}
  local function pass(number, id, verdict, claim)
    if has_ended[id] then return end
    verdicts[number], claims[number] = verdict, claim
    has_ended[id] = not keeps_lease
  end
  for t = 1, #topics do
    local topic = topics[t]
    local found = call('HMGET', holders_of(topic), unpack(ids[topic]))
    for k = 1, #found do
      local number, id = numbers[topic][k], ids[topic][k]
      local nonce = ARGV[first + (number - 1) * size + 1]
      if found[k] then
        if string.match(found[k], '^%S+') == nonce then pass(number, id, 'lease', found[k]) end
      else
        local crash = call('HGET', CRASHES, id)
        if crash and string.match(crash, '%S+$') == nonce then
          pass(number, id, 'late')
        elseif not crash and died_with(id, nonce) then
          pass(number, id, 'dead')
        end
      end
    end
  end
  return verdicts, claims
end

-- ranks.lua - the ranks of jobs. A rank is a digit, the priority of a job, and then its key; both choose among the due
-- jobs of a topic, see lanes.lua.

local Ranks = {uses = {}}

-- The hash RANKS has the rank of each job with a key or with another priority than the usual one: id -> rank. A cancelled
-- attempt that lingers (lingering.lua) has an entry, too.
Ranks.PLAIN = '5' -- the rank of a job with the usual priority and without a key

-- Cache of this call: id -> rank. The rank of a job that this call has ended stays, because its id may have to leave the
-- lane of this rank.
local known = {}
local added = {} -- id, rank, id, rank ... which Ranks.write writes

-- Returns the ranks of these ids.
function Ranks.of_all(ids)
  local ranks, unknown, places = {}, {}, {}
  for i = 1, #ids do
    ranks[i] = known[ids[i]]
    if not ranks[i] then unknown[#unknown + 1], places[#places + 1] = ids[i], i end
  end
  local found = #unknown > 0 and has(RANKS) and call('HMGET', RANKS, unpack(unknown)) or {}
  for i = 1, #unknown do
    local rank = found[i] and string.match(found[i], '^%d') and found[i] or Ranks.PLAIN
    known[unknown[i]], ranks[places[i]] = rank, rank
  end
  return ranks
end

function Ranks.of(id) return known[id] or Ranks.of_all({id})[1] end

-- Returns the rank of an id if this call has read it, or nothing.
function Ranks.known(id) return known[id] end

function Ranks.key_in(rank) return string.sub(rank, 2) end
function Ranks.with_priority(rank, priority) return priority .. Ranks.key_in(rank) end

-- Returns the rank that a record's head names (records.lua), or nothing if it is the plain one. record: a record, or that of
-- a new job, which still lacks its beginning. The key is written there as in JSON; the C code escapes only " and \.
function Ranks.in_record(record)
  local priority, at = string.match(record, '^"head":"1 %+?%d+ %d+ (%d) k%a* %d+ ()')
  if not priority then priority, at = string.match(record, '^{"createdAt":%d+,"head":"1 %d+ %d+ (%d) k%a* %d+ ()') end
  if not priority then return end
  local key = string.match(record, '^([^"\\]*)"', at)
  if key then return priority .. key end
  local from = at
  while true do
    local mark = string.find(record, '["\\]', from)
    if not mark then return end
    if string.byte(record, mark) == 34 then
      return priority .. (string.gsub(string.sub(record, at, mark - 1), '\\(.)', '%1'))
    end
    from = mark + 2
  end
end

function Ranks.set(id, rank)
  known[id] = rank
  if rank == Ranks.PLAIN then
    if not has(RANKS) then return end
    Ranks.write()
    call('HDEL', RANKS, id)
  else
    added[#added + 1], added[#added + 2] = id, rank
    is_there[RANKS] = true
  end
end

-- Removes the ranks of jobs that have ended.
function Ranks.forget(ids)
  if not has(RANKS) then return end
  Ranks.of_all(ids)
  Ranks.write()
  call('HDEL', RANKS, unpack(ids))
end

function Ranks.write()
  if #added == 0 then return end
  call('HSET', RANKS, unpack(added))
  added = {}
end

function Ranks.begin()
  if next(known) then known = {} end
  if #added > 0 then added = {} end
end

return Ranks

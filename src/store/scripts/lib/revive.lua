-- revive.lua - brings a dead job back into the pool.
-- uses: attempts ended

-- Puts a dead job back into the pool, with the given record, or else with its own. The caller must then put its id into
-- a bucket.
-- rare: ended
local function bring_back(id, record)
  local _, _, _, old, lines = kept_job(id)
  call('HSET', JOBS, id, record or old)
  if lines ~= '' then
    call('HSET', ATTEMPTS, id, lines)
    is_there[ATTEMPTS] = true
  end
  drop_kept(id)
end

-- revive.lua - brings a dead job back into the pool.
-- uses: attempts ended expiries

-- Makes a dead job a job that has not ended. record: its new record; if absent, the job keeps its record. The caller
-- must then put its id among the waiting jobs, or end it in the same call.
-- rare: ended
local function bring_back(id, record)
  local _, _, _, old, lines = kept_job(id)
  call('HSET', JOBS, id, record or old)
  note_expiry_of(id, record or old)
  if lines ~= '' then
    call('HSET', ATTEMPTS, id, lines)
    is_there[ATTEMPTS] = true
  end
  drop_kept(id)
end

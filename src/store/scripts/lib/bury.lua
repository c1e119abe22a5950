-- bury.lua - gives a job up.
-- uses: attempts crashes ended hour places

-- Gives up a job that is in no place any more: it leaves the pool and is kept. Where the settings say so, a notice,
-- which is another job, tells of that; of its own death none does. See JOB_ID_NOTICE, too.
local deaths = 0
local function bury(id, record, losses, line)
  keep(id, 'dead', now, losses, record, with_attempt(lines_of(id), line))
  call('HDEL', JOBS, id)
  forget_crashes(id)
  forget_attempts({id})
  local topic = topic_of(id)
  count(topic, 'x', 1)
  local url, job_id = setting_of(topic, 'onDead'), string.sub(id, #topic + 2)
  if not url or string.sub(job_id, 1, 5) == 'dead~' then return end
  deaths = deaths + 1
  local notice = topic .. '/dead~' .. integer(now_us) .. '~' .. deaths
  local body = '{"topic":"' .. topic .. '","jobId":"' .. string.gsub(job_id, '["\\]', '\\%0') .. '","deadAt":' .. integer(now) .. ',"job":' .. record .. '}'
  if call('HSETNX', JOBS, notice, '{"createdAt":' .. integer(now) .. ',"url":"' .. url .. '","body":' .. body .. '}') == 1 then
    put(notice, now)
  end
end

-- idempotency.lua - keys in Redis for the answers that are kept under an idempotency key.
-- uses: keys

local IDEMPOTENCY, WINDOWS = base .. 'idempotency', base .. 'windows' -- key -> its answer; key -> expiry, ms

-- reported.lua - keys with what is known about receivers (servers that jobs are POSTed to): the states of their circuit
-- breakers and limits. The script report.lua writes them.
-- uses: keys

-- name of a receiver -> its record; 'version' -> version of the record that was written last
local RECEIVERS = base .. 'receivers'
local REPORTED = base .. 'reported' -- name of a receiver -> version of its record
local REPORTED_KEPT_MS = 3600000 -- a record is removed when it has not changed for this time

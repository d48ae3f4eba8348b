-- Sets the number of permits of a semaphore, whatever those who ask for one think it is; and lets in who may come in now.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address, 2 place to go on from (0 at first), 3 number of permits
-- Reply place to go on from or -1
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"

redis.call('SET', LIMIT, ARGV[3], 'PX', LIMIT_MEMORY)
local holds, ended = read_holds()
local more = settle(holds, ended, nil, tonumber(ARGV[2]))
return more or -1

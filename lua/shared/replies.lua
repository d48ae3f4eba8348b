-- What a script answers to somebody who asks for the lock; the first element of the reply.
-- The same codes stand in lib/store/redis/replies.ts.
local QUEUED, HELD, BUSY, LEFT, UPGRADE, TOO_MANY = 0, 1, 2, 3, 4, 5

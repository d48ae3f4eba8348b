-- What a script answers to somebody who asks for the lock; the first element of the reply.
-- The same codes stand in lib/store/redis/replies.ts.
-- UNHEARD: queued, and nobody listens where its grant would be told. FOUND: held, and was told so by a message before.
local QUEUED, HELD, BUSY, LEFT, UPGRADE, UNHEARD, FOUND, TOO_MANY = 0, 1, 2, 3, 4, 5, 6, 7

-- Checks that the server runs scripts by their hash, and that they know the commands that locks need. Writes nothing: without
-- its arguments, each command but TIME fails.
--
-- Output  { the name of a command, its error, the next name, ... }
local errors = {}
for name in string.gmatch('TIME PUBLISH PUBSUB DEL EXISTS GET HDEL HGET HGETALL HLEN HMGET HSCAN HSET PEXPIRE PEXPIREAT '
  .. 'PTTL SET UNLINK ZADD ZCARD ZRANGE ZRANK ZREM ZREMRANGEBYSCORE ZREVRANGE ZSCORE', '%u+') do
  local reply = redis.pcall(name)
  if reply.err then
    errors[#errors + 1] = name
    errors[#errors + 1] = reply.err
  end
end
return errors

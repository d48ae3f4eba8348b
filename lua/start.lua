-- Checks that the server runs scripts by their hash, and that they know the commands that locks need. Writes nothing: without
-- its arguments, each command but TIME fails.
--
-- ARGV    1 the commands, if they are not those of the other scripts in this folder
-- Output  { the name of a command, its error, the next name, ... }
local errors = {}
for name in string.gmatch(ARGV[1] or 'TIME PUBLISH PUBSUB DEL EXISTS GET HDEL HGET HGETALL HLEN HMGET HSCAN HSET PEXPIRE PEXPIREAT '
  .. 'PTTL SET UNLINK ZADD ZCARD ZRANGE ZRANK ZREM ZREMRANGEBYSCORE ZREVRANGE ZSCORE', '%u+') do
  local reply = redis.pcall(name)
  if reply.err then
    errors[#errors + 1] = name
    errors[#errors + 1] = reply.err
  end
end
return errors

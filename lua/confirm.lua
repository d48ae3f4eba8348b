-- Writes a hold again without a change, so that WAIT on the same connection counts the replicas that have it.
--
-- KEYS    1 state
-- ARGV    1 hold id
-- Output  1: held; 0: not held
for _, field in ipairs({ ARGV[1], '+' .. ARGV[1] }) do
  local text = redis.call('HGET', KEYS[1], field)
  if text then
    redis.call('HSET', KEYS[1], field, text)
    return 1
  end
end
return 0

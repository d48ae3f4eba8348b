-- Reads whether messages are published on sharded channels. Redisson asks the same when it connects to a Cluster.
--
-- KEYS    1 any key of the slot
-- Output  1: yes; 0: the server is older than Redis 7, or its user may not use this command
return redis.pcall('PUBSUB', 'SHARDNUMSUB').err and 0 or 1

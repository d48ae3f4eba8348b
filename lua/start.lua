-- Checks that the server runs scripts by their hash, and that they can read its clock. Writes nothing.
--
-- Output  { seconds since 1970, microseconds }
return redis.call('TIME')

export { compileKeyTemplate } from './key-template.js';
export { classNameOf, type LockedCall, type RequestScope, type TemplateSite } from './template-site.js';
export { methodParameterNames, parameterNames, type ParameterNames } from './parameter-names.js';
export { assertKey, encodeKeyPart, lockKey, MAX_KEY_BYTES, tagged, type KeyPart } from './lock-key.js';
export { LATCH_KEY_ROLES, LOCK_KEY_ROLES } from './key-roles.generated.js';
export { groupBySlot, hashSlot } from './hash-slot.js';
export {
  busChannel,
  clientChannel,
  clientRecordKey,
  KEY_PREFIX,
  keyOfState,
  latchKeys,
  redisKeys,
  shardChannel,
  statePattern,
  type LatchKeys,
  type RedisKeys,
} from './redis-keys.js';

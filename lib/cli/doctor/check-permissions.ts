import type { Redis } from 'ioredis';
import { clientChannel, redisKeys } from '../../keys/index.js';
import { isRefusal } from '../session.js';
import { ok, problem, warning, type Finding } from './finding.js';

/** Each command that locks need, in a form that changes nothing but a key of the doctor's own. */
function trials(key: string, channel: string): ReadonlyArray<readonly [command: string, ...args: string[]]> {
  return [
    ['EVALSHA', '0'.repeat(40), '0'],
    ['EVAL', 'return 1', '0'],
    ['TIME'],
    ['PUBLISH', channel, 'doctor'],
    ['PUBSUB', 'NUMSUB', channel],
    ['EXISTS', key],
    ['GET', key],
    ['SET', key, '1', 'PX', '1000'],
    ['PTTL', key],
    ['PEXPIRE', key, '1000'],
    ['PEXPIREAT', key, '1'],
    ['HSET', key, 'a', '1'],
    ['HGET', key, 'a'],
    ['HEXISTS', key, 'a'],
    ['HGETALL', key],
    ['HDEL', key, 'a'],
    ['ZADD', key, '1', 'a'],
    ['ZCARD', key],
    ['ZRANGE', key, '0', '1'],
    ['ZREVRANGE', key, '0', '1'],
    ['ZRANK', key, 'a'],
    ['ZSCORE', key, 'a'],
    ['ZREMRANGEBYSCORE', key, '0', '1'],
    ['ZREM', key, 'a'],
    ['DEL', key],
  ];
}

/** What only parts of the library need. */
const OPTIONAL = [
  { command: ['WAIT', '0', '1'], without: 'replicas cannot be waited for' },
  { command: ['INFO'], without: 'several masters cannot be told apart, and this doctor sees less' },
] as const;

/** Tries what locks ask of their Redis user. */
export async function checkPermissions(client: Redis, prefix: string, id: string): Promise<Finding[]> {
  const { state } = redisKeys(prefix, `doctor:${id}`);
  const refusals: Array<{ readonly command: string; readonly what: Refusal }> = [];
  for (const [command, ...args] of trials(state, clientChannel(prefix, id))) {
    const what = await refusalOf(client, command, args);
    if (what !== undefined)
      refusals.push({ command: command === 'PUBSUB' ? 'pubsub|numsub' : command.toLowerCase(), what });
  }
  const missing = OPTIONAL.map(async ({ command: [name, ...args], without }) =>
    (await refusalOf(client, name, args)) === undefined ? [] : [optionalMissing(name.toLowerCase(), without)],
  );
  return [summary(client.options.username || 'default', prefix, refusals), ...(await Promise.all(missing)).flat()];
}

/** What a user may not do: say a command, or use a key or a channel. */
type Refusal = 'command' | 'key' | 'channel';

async function refusalOf(client: Redis, command: string, args: readonly string[]): Promise<Refusal | undefined> {
  try {
    await client.call(command, ...args);
    return undefined;
  } catch (error) {
    // Whatever else it says, it was permitted to be asked.
    if (!isRefusal(error)) {
      if (isReply(error)) return undefined;
      throw error;
    }
    return /\bchannels?\b/i.test(error.message) ? 'channel' : /\bkeys?\b/i.test(error.message) ? 'key' : 'command';
  }
}

/** The server has answered, as opposed to a connection that is gone. */
const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';

function summary(
  user: string,
  prefix: string,
  refusals: ReadonlyArray<{ readonly command: string; readonly what: Refusal }>,
): Finding {
  if (refusals.length === 0) return ok('permissions', `${user} may do all that locks need`);
  const commands = refusals.filter(({ what }) => what === 'command').map(({ command }) => `+${command}`);
  const rules = [
    ...commands,
    ...(refusals.some(({ what }) => what === 'key') ? [`~${prefix}:*`] : []),
    ...(refusals.some(({ what }) => what === 'channel') ? [`&${clientChannel(prefix, '*')}`] : []),
  ];
  return problem(
    'permissions',
    `${user} may not do ${refusals.length} of the things that locks need: ${refusals.map(({ command }) => command).join(', ')}`,
    `ACL SETUSER ${user} ${rules.join(' ')}`,
  );
}

const optionalMissing = (command: string, without: string): Finding =>
  warning('permissions', `${command} is refused, so ${without}`, `allow +${command}, if that matters`);

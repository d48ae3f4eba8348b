import type { Redis } from 'ioredis';
import { clientChannel } from '../../keys/index.js';
import { isRefusal } from '../deployment/answers.js';
import { ok, problem, warning, type Finding } from './finding.js';
import type { Trial } from './trial.js';

type Attempt = readonly [command: string, ...args: string[]];

/** Each command that locks need, in a form that changes nothing but a key of the doctor's own. */
function attempts({ state: key, channel }: Trial): Attempt[] {
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
    ['HMGET', key, 'a'],
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

/** What they need beside that in a Cluster. To listen in a slot is tried by itself. */
const attemptsInCluster = ({ slotChannel }: Trial): Attempt[] => [
  ['SPUBLISH', slotChannel, 'doctor'],
  ['PUBSUB', 'SHARDNUMSUB', slotChannel],
  ['CLUSTER', 'SLOTS'],
  ['CLUSTER', 'INFO'],
  ['ASKING'],
];

/** Commands that are allowed one by one: `+pubsub|numsub`. */
const WITH_SUBCOMMANDS: readonly string[] = ['PUBSUB', 'CLUSTER'];

/** What only parts of the library need. */
const OPTIONAL = [
  { command: ['WAIT', '0', '1'], without: 'replicas cannot be waited for' },
  { command: ['SCAN', '0', 'COUNT', '1'], without: 'ls, watch and the dashboard cannot find what is locked' },
  {
    command: ['INFO'],
    without:
      'a subscription that leads to a replica is found out late, several masters cannot be told apart, and this doctor sees less',
  },
  { command: ['PING'], without: 'each heartbeat of a subscription is refused, and noted in the ACL log' },
] as const;

/** Tries what locks ask of their Redis user. */
export async function checkPermissions(trial: Trial): Promise<Finding[]> {
  const { client } = trial.server;
  const refusals: Array<{ readonly command: string; readonly what: Refusal }> = [];
  for (const attempt of [...attempts(trial), ...(trial.inCluster ? attemptsInCluster(trial) : [])]) {
    const what = await refusalOf(client, attempt);
    if (what !== undefined) refusals.push({ command: nameOf(attempt), what });
  }
  const missing = OPTIONAL.map(async ({ command, without }) =>
    (await refusalOf(client, command)) === undefined ? [] : [optionalMissing(nameOf(command), without)],
  );
  const { username, password } = client.options;
  // Without a password ioredis does not log in, whatever a URL has before its host: that may be the password.
  const user = (password && username) || 'default';
  return [summary(user, trial.prefix, refusals), ...(await Promise.all(missing)).flat()];
}

/** As rules of an ACL name it. */
const nameOf = ([command, first]: Attempt): string =>
  (WITH_SUBCOMMANDS.includes(command) ? `${command}|${first}` : command).toLowerCase();

/** What a user may not do: say a command, or use a key or a channel. */
type Refusal = 'command' | 'key' | 'channel';

async function refusalOf(client: Redis, [command, ...args]: Attempt): Promise<Refusal | undefined> {
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

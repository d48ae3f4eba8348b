import type { Redis } from 'ioredis';
import { clientChannel } from '../../keys/index.js';
import { isRefusal } from '../deployment/answers.js';
import { ok, problem, warning, type Finding } from './finding.js';
import type { Trial } from './trial.js';

type Attempt = readonly [command: string, ...args: string[]];

/** Each command that locks need, in a form that changes only a key of the doctor's own. */
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
    ['HGETALL', key],
    ['HLEN', key],
    ['HSCAN', key, '0'],
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
    ['UNLINK', key],
  ];
}

/** The further commands that locks need in a Cluster. Sharded subscriptions have a check of their own. */
const attemptsInCluster = ({ slotChannel }: Trial): Attempt[] => [
  ['SPUBLISH', slotChannel, 'doctor'],
  ['PUBSUB', 'SHARDNUMSUB', slotChannel],
  ['CLUSTER', 'SLOTS'],
  ['CLUSTER', 'INFO'],
  ['ASKING'],
];

/** Commands that an ACL allows by subcommand: `+pubsub|numsub`. */
const WITH_SUBCOMMANDS: readonly string[] = ['PUBSUB', 'CLUSTER', 'CONFIG'];

/** Commands that only some features need. */
const OPTIONAL = [
  { command: ['WAIT', '0', '1'], without: 'the option `replicas` fails' },
  { command: ['SCAN', '0', 'COUNT', '1'], without: 'ls, watch and the dashboard cannot find the locks' },
  {
    command: ['INFO'],
    without: 'a subscription at a replica is noticed late, Redlock cannot check its masters, and doctor checks less',
  },
  {
    command: ['CONFIG', 'GET', 'timeout'],
    without: 'doctor cannot check idle timeouts and output buffers',
  },
  { command: ['PING'], without: 'each heartbeat of a subscription is refused, and recorded in the ACL log' },
] as const;

/** Checks that the Redis user may run all commands that locks need. */
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
  // Without a password, ioredis does not log in. A name before the host of the URL may be the password.
  const user = (password && username) || 'default';
  return [summary(user, trial.prefix, refusals), ...(await Promise.all(missing)).flat()];
}

/** The name of a command in the rules of an ACL. */
const nameOf = ([command, first]: Attempt): string =>
  (WITH_SUBCOMMANDS.includes(command) ? `${command}|${first}` : command).toLowerCase();

/** What a user may not do: run a command, or access a key or a channel. */
type Refusal = 'command' | 'key' | 'channel';

async function refusalOf(client: Redis, [command, ...args]: Attempt): Promise<Refusal | undefined> {
  try {
    await client.call(command, ...args);
    return undefined;
  } catch (error) {
    // Any other error means that the command is permitted.
    if (!isRefusal(error)) {
      if (isReply(error)) return undefined;
      throw error;
    }
    return /\bchannels?\b/i.test(error.message) ? 'channel' : /\bkeys?\b/i.test(error.message) ? 'key' : 'command';
  }
}

/** Whether the server has replied, as opposed to a lost connection. */
const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';

function summary(
  user: string,
  prefix: string,
  refusals: ReadonlyArray<{ readonly command: string; readonly what: Refusal }>,
): Finding {
  if (refusals.length === 0) return ok('permissions', `${user} has all permissions that locks need`);
  const commands = refusals.filter(({ what }) => what === 'command').map(({ command }) => `+${command}`);
  const rules = [
    ...commands,
    ...(refusals.some(({ what }) => what === 'key') ? [`~${prefix}:*`] : []),
    ...(refusals.some(({ what }) => what === 'channel') ? [`&${clientChannel(prefix, '*')}`] : []),
  ];
  return problem(
    'permissions',
    `${user} lacks the permission for ${refusals.length} of the commands that locks need: ${refusals.map(({ command }) => command).join(', ')}`,
    `ACL SETUSER ${user} ${rules.join(' ')}`,
  );
}

const optionalMissing = (command: string, without: string): Finding =>
  warning('permissions', `${command} is refused, so ${without}`, `allow +${command} if you need this`);

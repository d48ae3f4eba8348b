import type { Redis } from 'ioredis';
import { clientChannel } from '../../keys/index.js';
import { isRefusal, isReply, isUnknown } from '../deployment/deployment.js';
import { ok, problem, warning, type Finding } from './finding.js';
import type { Trial } from './trial.js';

type Attempt = readonly [command: string, ...args: string[]];

/** The commands that run scripts. */
const CALLS: readonly Attempt[] = [
  ['EVALSHA', '0'.repeat(40), '0'],
  ['EVAL', 'return 1', '0'],
];

/** Each command that the scripts of locks use, in a form that changes only a key of the doctor's own. */
function attemptsInScripts({ state: key, channel, slotChannel, inCluster }: Trial): Attempt[] {
  return [
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
    ...(inCluster ? shardedMessages(slotChannel) : []),
  ];
}

/** Sharded subscriptions have a check of their own. */
const shardedMessages = (channel: string): Attempt[] => [
  ['SPUBLISH', channel, 'doctor'],
  ['PUBSUB', 'SHARDNUMSUB', channel],
];

/** The further commands that clients send in a Cluster. */
const CLUSTER_CALLS: readonly Attempt[] = [['CLUSTER', 'SLOTS'], ['CLUSTER', 'INFO'], ['CLUSTER', 'MYID'], ['ASKING']];

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

/** Checks that the server knows all commands that locks need, also inside scripts, and that its user may run them. */
export async function checkPermissions(trial: Trial): Promise<Finding[]> {
  const { client } = trial.server;
  const all: Array<{ readonly command: string; readonly what: Refusal }> = [];
  const note = async (name: Attempt, attempt = name): Promise<boolean> => {
    const what = await refusalOf(client, attempt);
    if (what !== undefined)
      all.push({ command: nameOf(name), what: name === attempt || what !== 'unknown' ? what : 'in scripts' });
    return what === undefined;
  };
  for (const attempt of [...CALLS, ...(trial.inCluster ? CLUSTER_CALLS : [])]) await note(attempt);
  const hasScripts = all.every(({ command }) => command !== 'eval');
  for (const attempt of attemptsInScripts(trial)) {
    if ((await note(attempt)) && hasScripts) await note(attempt, inScript(attempt, trial.state));
  }
  const missing = OPTIONAL.map(async ({ command, without }) => {
    const what = await refusalOf(client, command);
    return what === undefined ? [] : [optionalMissing(nameOf(command), without, what)];
  });
  const refusals = all.filter(({ what }) => !isMissing(what));
  const { username, password } = client.options;
  // Without a password, ioredis does not log in. A name before the host of the URL may be the password.
  const user = (password && username) || 'default';
  const unknown = all.filter(({ what }) => isMissing(what));
  return [
    ...(unknown.length === 0 ? [] : [missingCommands(unknown)]),
    summary(user, trial.prefix, refusals),
    ...(await Promise.all(missing)).flat(),
  ];
}

/** The call of a script that runs a command: some servers want its name as a literal, and the key declared. */
const inScript = (attempt: Attempt, key: string): Attempt => [
  'EVAL',
  `return redis.pcall(${attempt.map((word) => (word === key ? 'KEYS[1]' : `'${word}'`)).join(', ')})`,
  '1',
  key,
];

/** The name of a command in the rules of an ACL. */
const nameOf = ([command, first]: Attempt): string =>
  (WITH_SUBCOMMANDS.includes(command) ? `${command}|${first}` : command).toLowerCase();

/**
 * What a user may not do: run a command, or access a key or a channel. Or the server does not know the command, or not
 * inside scripts.
 */
type Refusal = 'command' | 'key' | 'channel' | 'unknown' | 'in scripts';

const isMissing = (what: Refusal): boolean => what === 'unknown' || what === 'in scripts';

async function refusalOf(client: Redis, [command, ...args]: Attempt): Promise<Refusal | undefined> {
  try {
    await client.call(command, ...args);
    return undefined;
  } catch (error) {
    if (isUnknown(error)) return 'unknown';
    // Any other reply means that the command is permitted.
    if (!isRefusal(error) && isReply(error)) return undefined;
    if (!isRefusal(error)) throw error;
    return /\bchannels?\b/i.test(error.message) ? 'channel' : /\bkeys?\b/i.test(error.message) ? 'key' : 'command';
  }
}

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

const optionalMissing = (command: string, without: string, what: Refusal): Finding =>
  what === 'unknown'
    ? warning('commands', `the server lacks ${command}, so ${without}`, 'use another server if you need this')
    : warning('permissions', `${command} is refused, so ${without}`, `allow +${command} if you need this`);

/** Without these commands, waiters get no messages, and everything else works. */
const OF_MESSAGES = /^(publish|spublish|pubsub\|.*)$/;

function missingCommands(missing: ReadonlyArray<{ readonly command: string; readonly what: Refusal }>): Finding {
  const names = missing.map(({ command, what }) => `${command}${what === 'unknown' ? '' : ' (in scripts)'}`);
  const isOnlySlow = missing.every(({ command }) => OF_MESSAGES.test(command));
  const effect = isOnlySlow ? 'waiters receive no messages, and retry every 3 s' : 'locks fail';
  return problem(
    'commands',
    `the server lacks ${names.length} of the commands that locks need: ${names.join(', ')}. Without them, ${effect}`,
    'use Redis 6.2 or later, or Valkey; ask the provider which commands its plan or proxy removes',
  );
}

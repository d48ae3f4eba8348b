import type { Redis } from 'ioredis';
import { clientChannel } from '../../keys/index.js';
import { isRefusal, isReply, isUnknown } from '../deployment/deployment.js';
import { ok, problem, warning, type Finding } from './finding.js';
import type { Trial } from './trial.js';

type Attempt = readonly [command: string, ...args: string[]];

/** The commands of a text such as `GET KEY; TIME`, in which `names` stand for the words in capitals that they have. */
const attempts = (text: string, names: Readonly<Record<string, string>> = {}): Attempt[] =>
  text.split(';').map((command) => {
    const [name, ...args] = command.trim().split(/\s+/);
    return [name!, ...args.map((word) => names[word] ?? word)];
  });

/** The commands that run scripts. */
const CALLS: readonly Attempt[] = [
  ['EVALSHA', '0'.repeat(40), '0'],
  ['EVAL', 'return 1', '0'],
];

/** Each command that the scripts of locks use, in a form that changes only a key of the doctor's own. */
const IN_SCRIPTS = `TIME; PUBLISH CHANNEL doctor; PUBSUB NUMSUB CHANNEL; EXISTS KEY; GET KEY; SET KEY 1 PX 1000; PTTL KEY;
  PEXPIRE KEY 1000; PEXPIREAT KEY 1; HSET KEY a 1; HGET KEY a; HGETALL KEY; HLEN KEY; HSCAN KEY 0; HMGET KEY a; HDEL KEY a;
  ZADD KEY 1 a; ZCARD KEY; ZRANGE KEY 0 1; ZREVRANGE KEY 0 1; ZRANK KEY a; ZSCORE KEY a; ZREMRANGEBYSCORE KEY 0 1;
  ZREM KEY a; DEL KEY; UNLINK KEY`;
/** The further ones in a Cluster. Sharded subscriptions have a check of their own. */
const IN_SCRIPTS_OF_CLUSTER = 'SPUBLISH SLOT_CHANNEL doctor; PUBSUB SHARDNUMSUB SLOT_CHANNEL';

/** The further commands that clients send in a Cluster. */
const CLUSTER_CALLS = attempts('CLUSTER SLOTS; CLUSTER INFO; CLUSTER MYID; ASKING');

/** Commands that an ACL allows by subcommand: `+pubsub|numsub`. */
const WITH_SUBCOMMANDS: readonly string[] = ['PUBSUB', 'CLUSTER', 'CONFIG'];

/** Commands that only some features need. */
const OPTIONAL: ReadonlyArray<readonly [command: string, without: string]> = [
  ['WAIT 0 1', 'the option `replicas` fails'],
  ['SCAN 0 COUNT 1', 'ls, watch and the dashboard cannot find the locks'],
  ['INFO', 'a subscription at a replica is noticed late, Redlock cannot check its masters, and doctor checks less'],
  ['CONFIG GET timeout', 'doctor cannot check idle timeouts and output buffers'],
  ['PUBSUB CHANNELS doctor', 'doctor and ls cannot name the connected clients and their prefixes'],
  ['PING', 'each heartbeat of a subscription is refused, and recorded in the ACL log'],
];

/** Checks that the server knows all commands that locks need, also inside scripts, and that its user may run them. */
export async function checkPermissions(trial: Trial): Promise<Finding[]> {
  const { client } = trial.server;
  const { state: KEY, channel: CHANNEL, slotChannel: SLOT_CHANNEL, inCluster } = trial;
  const all: Refused[] = [];
  const note = async (name: Attempt, attempt = name): Promise<boolean> => {
    const what = await refusalOf(client, attempt);
    if (what !== undefined)
      all.push({ command: nameOf(name), what: name === attempt || what !== 'unknown' ? what : 'in scripts' });
    return what === undefined;
  };
  for (const attempt of [...CALLS, ...(inCluster ? CLUSTER_CALLS : [])]) await note(attempt);
  const hasScripts = all.every(({ command }) => command !== 'eval');
  const inScripts = inCluster ? `${IN_SCRIPTS};${IN_SCRIPTS_OF_CLUSTER}` : IN_SCRIPTS;
  for (const attempt of attempts(inScripts, { KEY, CHANNEL, SLOT_CHANNEL })) {
    if ((await note(attempt)) && hasScripts) await note(attempt, inScript(attempt, KEY));
  }
  const missing = OPTIONAL.map(async ([text, without]) => {
    const [attempt] = attempts(text);
    const what = await refusalOf(client, attempt!);
    return what === undefined ? [] : [optionalMissing(nameOf(attempt!), without, what)];
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
type Refused = { readonly command: string; readonly what: Refusal };

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

function summary(user: string, prefix: string, refusals: readonly Refused[]): Finding {
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

function missingCommands(missing: readonly Refused[]): Finding {
  const names = missing.map(({ command, what }) => `${command}${what === 'unknown' ? '' : ' (in scripts)'}`);
  const isOnlySlow = missing.every(({ command }) => OF_MESSAGES.test(command));
  const effect = isOnlySlow ? 'waiters receive no messages, and retry every 3 s' : 'locks fail';
  return problem(
    'commands',
    `the server lacks ${names.length} of the commands that locks need: ${names.join(', ')}. Without them, ${effect}`,
    'use Redis 6.2 or later, or Valkey; ask the provider which commands its plan or proxy removes',
  );
}

import { randomBytes } from 'node:crypto';
import { foreignError } from '../../store/redis/foreign-error.js';
import { answerUnless, isRefusal, type Deployment } from '../deployment/deployment.js';
import type { Session } from '../session.js';
import { checkClients, clientChannels } from './check-clients.js';
import { checkClock, checkClocks, checkLatency, readClock, type ClockReading } from './check-clock.js';
import { checkConnections } from './check-config.js';
import { checkDeadlocks } from './check-deadlocks.js';
import { checkLayout } from './check-layout.js';
import { checkFeatures, checkLocking } from './check-locking.js';
import { checkPermissions } from './check-permissions.js';
import { checkPubSub } from './check-pubsub.js';
import { A_SENTINEL, checkInfo, checkSlots, readInfo } from './check-server.js';
import { problem, type Finding } from './finding.js';
import { trialAt, type Trial } from './trial.js';

/**
 * Checks every server, and a key if it is given, then uses locks. Only their fencing tokens remain in Redis, for ten
 * minutes.
 */
export async function examine(session: Session, key: string | undefined): Promise<Finding[]> {
  const id = randomBytes(8).toString('hex');
  const { kind } = session.deployment;
  const findings: Finding[] = [];
  const channels: Array<string[] | undefined> = [];
  const clocks = new Map<string, ClockReading>();
  // Created together, while it is known which server serves which slots.
  const trials = session.deployment.servers().map((server) => trialAt(server, session, id));
  for (const trial of trials) {
    const { address } = trial.server;
    const { found, clock, clients } = await examineServer(trial, kind);
    findings.push(...found.map((each) => (trials.length > 1 ? { ...each, check: `${address} ${each.check}` } : each)));
    channels.push(clients);
    if (clock !== undefined) clocks.set(address, clock);
  }
  const known = channels.filter((each) => each !== undefined);
  if (known.length > 0) findings.push(await checkClients(session, known.flat()));
  if (clocks.size > 1) findings.push(checkClocks(clocks, kind === 'redlock'));
  if (key !== undefined) findings.push(await checkLayout(session, key));
  findings.push(...(await checkDeadlocks(session)));
  const locking = await checkLocking(session, id);
  // The features need locks.
  return [...findings, locking, ...(locking.status === 'ok' ? [await checkFeatures(session, id, findings)] : [])];
}

/** The findings about one server, and what the findings about several servers need of it. */
interface Examined {
  readonly found: readonly Finding[];
  readonly clock?: ClockReading | undefined;
  /** The channels of the clients that it knows; `undefined`: it does not say. */
  readonly clients: string[] | undefined;
}

async function examineServer(trial: Trial, kind: Deployment['kind']): Promise<Examined> {
  const { server, inCluster } = trial;
  const { client } = server;
  let clients: string[] | undefined;
  try {
    const info = await readInfo(client.info());
    if (info?.get('redis_mode') === 'sentinel') return { clients, found: [A_SENTINEL] };
    clients = await clientChannels(server, inCluster);
    const found = [
      ...(info === undefined ? [] : checkInfo(info, kind)),
      ...(await checkPermissions(trial)),
      await checkPubSub(trial),
      ...(inCluster ? await clusterFindings(trial) : []),
      ...(await checkConnections(client)),
    ];
    // None if the user may not call TIME, which the permissions report.
    const clock = await answerUnless(isRefusal, readClock(client));
    return { clients, clock, found: clock === undefined ? found : [...found, checkLatency(clock), checkClock(clock)] };
  } catch (error) {
    const advice = 'check whether the server runs, and whether this machine can reach it';
    return { clients, found: [problem('connection', foreignError(error).message, advice)] };
  }
}

async function clusterFindings(trial: Trial): Promise<Finding[]> {
  const clusterInfo = await readInfo(trial.server.client.cluster('INFO'));
  return [await checkPubSub(trial, 's'), ...(clusterInfo === undefined ? [] : [checkSlots(clusterInfo)])];
}

import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
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
import { checkPubSub, checkShardedPubSub } from './check-pubsub.js';
import {
  checkEvicted,
  checkEviction,
  checkIsNoNode,
  checkMemory,
  checkPersistence,
  checkRole,
  checkSaving,
  checkSlots,
  checkUptime,
  checkVersion,
  checkVoteIsKept,
  readInfo,
  type ServerInfo,
} from './check-server.js';
import { problem, type Finding } from './finding.js';
import { trialAt, type Trial } from './trial.js';

/** What a finding about several servers needs. */
interface Learned {
  clock(reading: ClockReading): void;
  channels(names: readonly string[]): void;
}

/**
 * Checks every server, and a key if it is given, then uses locks. Only their fencing tokens remain in Redis, for ten
 * minutes.
 */
export async function examine(session: Session, key: string | undefined): Promise<Finding[]> {
  const id = randomBytes(8).toString('hex');
  const { deployment } = session;
  const findings: Finding[] = [];
  const channels: string[] = [];
  const clocks = new Map<string, ClockReading>();
  // Created together, while it is known which server serves which slots.
  const trials = deployment.servers().map((server) => trialAt(server, session, id));
  for (const trial of trials) {
    const { address } = trial.server;
    const found = await examineServer(trial, deployment.kind, {
      clock: (reading) => clocks.set(address, reading),
      channels: (names) => channels.push(...names),
    });
    findings.push(...found.map((each) => (trials.length > 1 ? { ...each, check: `${address} ${each.check}` } : each)));
  }
  findings.push(await checkClients(session, channels));
  if (clocks.size > 1) findings.push(checkClocks(clocks, deployment.kind === 'redlock'));
  if (key !== undefined) findings.push(await checkLayout(session, key));
  findings.push(...(await checkDeadlocks(session)));
  const locking = await checkLocking(session, id);
  // The features need locks.
  return [...findings, locking, ...(locking.status === 'ok' ? [await checkFeatures(session, id, findings)] : [])];
}

async function examineServer(trial: Trial, kind: Deployment['kind'], learned: Learned): Promise<Finding[]> {
  const { client } = trial.server;
  try {
    const info = await readInfo(client.info());
    learned.channels(await clientChannels(trial.server, trial.inCluster));
    return [
      ...(info === undefined ? [] : infoFindings(info, kind)),
      ...(await checkPermissions(trial)),
      await checkPubSub(trial),
      ...(trial.inCluster ? await clusterFindings(trial) : []),
      ...(await checkConnections(client)),
      ...(await clockFindings(client, learned)),
    ];
  } catch (error) {
    return [
      problem(
        'connection',
        foreignError(error).message,
        'check whether the server runs, and whether this machine can reach it',
      ),
    ];
  }
}

function infoFindings(info: ServerInfo, kind: Deployment['kind']): Finding[] {
  const checks = [checkVersion, checkUptime, checkRole, checkEviction, checkEvicted, checkMemory, checkSaving];
  checks.push(kind === 'redlock' ? checkVoteIsKept : checkPersistence);
  return [...(kind === 'cluster' ? [] : checkIsNoNode(info)), ...checks.map((check) => check(info))];
}

async function clusterFindings(trial: Trial): Promise<Finding[]> {
  const clusterInfo = await readInfo(trial.server.client.cluster('INFO'));
  return [await checkShardedPubSub(trial), ...(clusterInfo === undefined ? [] : [checkSlots(clusterInfo)])];
}

/** None if the user may not call TIME, which the permissions report. */
async function clockFindings(client: Redis, learned: Learned): Promise<Finding[]> {
  const reading = await answerUnless(isRefusal, readClock(client));
  if (reading === undefined) return [];
  learned.clock(reading);
  return [checkLatency(reading), checkClock(reading)];
}

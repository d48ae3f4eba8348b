import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { foreignError } from '../../store/redis/foreign-error.js';
import { isRefusal } from '../deployment/answers.js';
import type { Deployment } from '../deployment/deployment.js';
import type { Session } from '../session.js';
import { checkClock, checkLatency, readClock } from './check-clock.js';
import { checkIsNoNode, checkSlots, readClusterInfo } from './check-cluster.js';
import { checkLocking } from './check-locking.js';
import { checkPermissions } from './check-permissions.js';
import { checkPubSub, checkShardedPubSub } from './check-pubsub.js';
import { checkEviction, checkMemory, checkRole, checkSaving, checkVersion, checkVoteIsKept } from './check-server.js';
import { problem, type Finding } from './finding.js';
import { readServerInfo, type ServerInfo } from './server-info.js';
import { trialAt, type Trial } from './trial.js';

/** Checks every server, then acquires a lock. Only its fencing token remains in Redis, for ten minutes. */
export async function examine(session: Session): Promise<Finding[]> {
  const id = randomBytes(8).toString('hex');
  const { deployment } = session;
  const findings: Finding[] = [];
  // Created together, while it is known which server serves which slots.
  const trials = deployment.servers().map((server) => trialAt(server, session, id));
  for (const trial of trials) {
    const found = await examineServer(trial, deployment.kind);
    const { address } = trial.server;
    findings.push(...found.map((each) => (trials.length > 1 ? { ...each, check: `${address} ${each.check}` } : each)));
  }
  return [...findings, await checkLocking(session, id)];
}

async function examineServer(trial: Trial, kind: Deployment['kind']): Promise<Finding[]> {
  const { client } = trial.server;
  try {
    const info = await readServerInfo(client);
    return [
      ...(info === undefined ? [] : infoFindings(info, kind)),
      ...(await checkPermissions(trial)),
      await checkPubSub(trial),
      ...(trial.inCluster ? await clusterFindings(trial) : []),
      ...(await clockFindings(client)),
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
  const checks = [checkVersion, checkRole, checkEviction, checkMemory, checkSaving];
  if (kind === 'redlock') checks.push(checkVoteIsKept);
  return [...(kind === 'cluster' ? [] : checkIsNoNode(info)), ...checks.map((check) => check(info))];
}

async function clusterFindings(trial: Trial): Promise<Finding[]> {
  const clusterInfo = await readClusterInfo(trial.server);
  return [await checkShardedPubSub(trial), ...(clusterInfo === undefined ? [] : [checkSlots(clusterInfo)])];
}

async function clockFindings(client: Redis): Promise<Finding[]> {
  try {
    const reading = await readClock(client);
    return [checkLatency(reading), checkClock(reading)];
  } catch (error) {
    // The permissions report it already.
    if (isRefusal(error)) return [];
    throw error;
  }
}

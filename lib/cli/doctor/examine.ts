import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { addressOf, isRefusal, type Session } from '../session.js';
import { checkClock, checkLatency, readClock } from './check-clock.js';
import { checkLocking } from './check-locking.js';
import { checkPermissions } from './check-permissions.js';
import { checkPubSub } from './check-pubsub.js';
import { checkEviction, checkMemory, checkRole, checkSaving, checkVersion, checkVoteIsKept } from './check-server.js';
import { problem, type Finding } from './finding.js';
import { readServerInfo } from './server-info.js';

/** Looks at every server, and then takes a lock on all of them. All that is left is its fencing token, for ten minutes. */
export async function examine(session: Session): Promise<Finding[]> {
  const id = randomBytes(8).toString('hex');
  const findings: Finding[] = [];
  const { clients } = session;
  for (const client of clients) {
    const found = await examineServer(client, session, id);
    const address = addressOf(client);
    findings.push(...found.map((each) => (clients.length > 1 ? { ...each, check: `${address} ${each.check}` } : each)));
  }
  return [...findings, await checkLocking(session, id)];
}

async function examineServer(client: Redis, { prefix, timeout, clients }: Session, id: string): Promise<Finding[]> {
  try {
    const findings: Finding[] = [];
    const info = await readServerInfo(client);
    if (info !== undefined) {
      const checks = [checkVersion, checkRole, checkEviction, checkMemory, checkSaving];
      if (clients.length > 1) checks.push(checkVoteIsKept);
      findings.push(...checks.map((check) => check(info)));
    }
    findings.push(...(await checkPermissions(client, prefix, id)));
    findings.push(await checkPubSub(client, prefix, id, timeout));
    return [...findings, ...(await clockFindings(client))];
  } catch (error) {
    return [problem('connection', (error as Error).message, 'see whether the server runs, and who may reach it')];
  }
}

async function clockFindings(client: Redis): Promise<Finding[]> {
  try {
    const reading = await readClock(client);
    return [checkLatency(reading), checkClock(reading)];
  } catch (error) {
    // Told among the permissions already.
    if (isRefusal(error)) return [];
    throw error;
  }
}

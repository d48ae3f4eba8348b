import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { LockService, type LeaderElection } from 'nestjs-redis-locks';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { NestBench } from '../nest/support.js';

const bench = new NestBench();
const busy = deferred();

@Injectable()
class Mailer implements OnModuleInit, OnApplicationShutdown {
  readonly election: LeaderElection;
  ended = false;
  drains = false;

  constructor(locks: LockService) {
    this.election = locks.getLeaderElection('mailer', {
      onElected: (_lock, signal) => signal.addEventListener('abort', () => (this.ended = true)),
    });
  }

  onModuleInit(): void {
    this.election.start();
  }

  /** Work that takes its time, after every provider was notified of the shutdown. */
  async onApplicationShutdown(): Promise<void> {
    if (this.drains) await busy;
  }
}

describe('an election in an application', () => {
  it('passes to another replica while the closing replica still finishes its work', async () => {
    const first = await bench.boot({ providers: [Mailer] });
    await eventually(() => first.get(Mailer).election.isLeader);
    const second = await bench.boot({ providers: [Mailer] });
    await eventually(async () => (await second.get(LockService).inspect('mailer'))?.waiters.length === 1);
    first.get(Mailer).drains = true;
    let closed = false;
    const closing = first.close().then(() => (closed = true));
    await eventually(() => second.get(Mailer).election.isLeader);
    expect([first.get(Mailer).election.isLeader, first.get(Mailer).ended, closed]).toEqual([false, true, false]);
    busy.resolve();
    const since = performance.now();
    await closing;
    expect(performance.now() - since).toBeLessThan(2_000);
    expect(second.get(Mailer).election.isLeader).toBe(true);
  });
});

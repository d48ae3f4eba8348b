/** Situations in which a key is not released. */
export const HOLDERS = {
  async 'The holder has crashed'(stage) {
    const shop = await stage.holder({ renewedLease: '30s' });
    await stage.named('shop-1');
    await shop.kill();
    // A lease of 30 s that is renewed has never less than 20 s left.
    await stage.shows('npx nestjs-redis-locks ls stock:42', / 1\d\.\d s/);
    const other = await stage.application('shop-2', { renewedLease: '30s' });
    await other.call('attempt', 'stock:42', { waitTimeout: '1s' });
    await stage.shows('grep lock.timeout shop-2.log', '"holder":"shop-1');
    await stage.shows('curl -s http://shop-2/metrics | grep timeouts_total', /\} 1/);
    await stage.shows('npx nestjs-redis-locks doctor | grep clients', '1 connected', 'shop-2');
    await stage.shows('Dashboard of shop-2', 'renewal overdue', 'held by shop-1');
  },

  async 'The holder is frozen'(stage) {
    const shop = await stage.holder({ renewedLease: '30s' });
    await stage.named('shop-1');
    await stage.opens('shop-1');
    shop.pause();
    await stage.shows('npx nestjs-redis-locks ls stock:42', / 1\d\.\d s/);
    await stage.shows('npx nestjs-redis-locks doctor | grep clients', '1 connected', 'shop-1');
    await stage.shows('Dashboard of shop-1', 'The application has not answered', 'was ');
    // Its page is opened after the freeze.
    await stage.application('shop-2', { renewedLease: '30s' });
    await stage.shows('npx nestjs-redis-locks inspect stock:42', 'renewal overdue');
    await stage.shows('Dashboard of shop-2', 'renewal overdue');
    shop.resume();
  },

  async 'The holder lives and does not release'(stage) {
    await stage.holder({ renewedLease: '30s' });
    const inspect = 'npx nestjs-redis-locks inspect stock:42';
    const tokenOf = (output) => /\b\d{13,20}\b/.exec(output)?.[0];
    const first = await stage.shows(inspect, '1 holding', / 2\d\.\d s/);
    await stage.shows('curl -s http://shop-1/metrics | grep redis_lock_renewals_total', /"exclusive"\} [1-9]/);
    const second = await stage.shows(inspect, '1 holding', / 2\d\.\d s/);
    if (tokenOf(first) !== tokenOf(second)) throw new Error('the token of a forgotten hold has changed');
  },

  async 'Free the key'(stage, redis) {
    const [shop, other] = [await stage.application('shop-1'), await stage.application('shop-2')];
    await shop.call('hold', 'stock:42');
    await other.call('wait', 'stock:42');
    await stage.until('a waiter', async () => (await redis.admin.zcard('lock:queue:{stock:42}')) === 1);
    await stage.named('shop-1');
    const report = await stage.shows('npx nestjs-redis-locks release stock:42', 'was not released', '--force');
    stage.types('ID', /\b[0-9a-f]{32}:\d+\.\d+/.exec(report)[0]);
    await stage.shows(
      'npx nestjs-redis-locks release stock:42 --force --hold ID',
      'of stock:42 was released by ',
      'from shop-1',
      'The next holder is shop-2',
    );
    await stage.shows(
      'grep force shop-1.log',
      'it was released by force by ',
      '; the next holder is shop-2',
      '"nextHolder":"shop-2',
    );
    await stage.shows('Dashboard of shop-1', 'Lost 1', 'it was released by force', 'then held by shop-2');
  },

  async 'The key is busy'(stage) {
    const names = ['shop-1', 'shop-2', 'shop-3'];
    const shops = await Promise.all(names.map((name) => stage.application(name)));
    await Promise.all(shops.map((shop) => shop.call('takeTurns', 'stock:42')));
    const inspect = 'npx nestjs-redis-locks inspect stock:42 --json | grep fencingToken';
    const first = await stage.shows(inspect, 'fencingToken');
    const second = await stage.shows(inspect, 'fencingToken');
    if (first === second) throw new Error('the token of a busy key has not changed');
    await stage.shows('curl -s http://shop-1/metrics | grep contended_total', /\} [1-9]/);
    await shops[0].call('look', 'stock:42');
    await shops[0].call('attempt', 'stock:42');
    await stage.shows('grep lock.timeout shop-1.log', '"holder":"shop-');
    await stage.shows('Dashboard of shop-1, last holders', 'waited');
    await Promise.all(shops.map((shop) => shop.call('stopTurns')));
  },

  async 'A cron job is skipped'(stage) {
    const [first, second] = [await stage.application('job-1'), await stage.application('job-2')];
    if (!(await first.call('tick', 'nightly-report', { holdAtLeast: '1m' }))) throw new Error('the job does not run');
    await stage.named('job-1');
    await second.call('tick', 'nightly-report', { holdAtLeast: '1m' });
    // It names no holder: the work is done.
    await stage.shows('grep lock.skipped job-2.log', 'nightly-report');
    await stage.shows('npx nestjs-redis-locks ls nightly-report', '(kept)', 'job-1');
    await stage.shows('curl -s http://job-1/metrics | grep last_acquired', /\} \d/);
  },

  async 'A cron job never runs'(stage) {
    const crashed = await stage.application('job-1');
    await crashed.call('hold', 'nightly-report', { expire: '1h' });
    await stage.named('job-1');
    await crashed.kill();
    const job = await stage.application('job-2');
    await job.call('look', 'nightly-report');
    for (let i = 0; i < 3; i++) if (await job.call('tick', 'nightly-report')) throw new Error('the job runs');
    await stage.shows('curl -s http://job-2/metrics | grep skipped_total', /\} 3/);
    await stage.shows('grep lock.skipped job-2.log', '"holder":"job-1');
    await stage.shows('npx nestjs-redis-locks ls --sort held', 'nightly-report', /59m \d+s/);
    await stage.shows('Dashboard of job-2', 'job-1', 'Timeouts 0', /59m \d+s/);
    await stage.shows('npx nestjs-redis-locks release nightly-report --force', 'was released');
    if (!(await job.call('tick', 'nightly-report'))) throw new Error('the job does not run');
  },
};

// clock.spec.ts
import { LockTesting } from 'nestjs-redis-locks/testing';

it('ends a fixed lease', async () => {
  await using testing = new LockTesting({ clock: 'manual' });
  const lock = await testing.service.acquire('import', { expire: '1m' });
  await testing.clock.advance('59s');
  expect(lock.isHeld).toBe(true);
  await testing.clock.advance('1s');
  expect(lock.isHeld).toBe(false);
});

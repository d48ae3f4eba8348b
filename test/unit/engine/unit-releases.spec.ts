import { expect, it } from '@jest/globals';
import { Releases } from '../../../lib/engine/releases.js';
import { FakeClock } from '../../../lab/testbed/clocks/fake-clock.js';
import { contextOf, FakeStore, passing } from './support.js';

function setUp() {
  const clock = new FakeClock();
  const store = new FakeStore();
  const sent: number[] = [];
  let isDown = true;
  const permits = {
    keepUnits: async ({ units }: { units: number }) => {
      sent.push(units);
      if (isDown) throw passing();
      return units;
    },
  };
  const units = new Releases(contextOf(Object.assign(store, { permits }), clock));
  return { clock, sent, units, recover: () => (isDown = false) };
}

it('one retry at a time says how many permits a hold still has', async () => {
  const { clock, sent, units, recover } = setUp();
  const hold = { key: 'a', id: 'me:1', units: 5, isHeld: true };
  for (let i = 0; i < 4; i++) {
    hold.units -= 1;
    await expect(units.sendUnits(hold)).rejects.toThrow();
  }
  expect(sent.splice(0)).toEqual([4, 3, 2, 1]);
  await clock.pass(600);
  expect(sent.splice(0)).toEqual([1, 1]);
  recover();
  await clock.pass(600);
  expect(sent).toEqual([1]);
});

it('nothing is retried for a hold that has ended', async () => {
  const { clock, sent, units } = setUp();
  const hold = { key: 'a', id: 'me:1', units: 1, isHeld: true };
  await expect(units.sendUnits(hold)).rejects.toThrow();
  hold.isHeld = false;
  await clock.pass(600);
  expect(sent).toEqual([1]);
});

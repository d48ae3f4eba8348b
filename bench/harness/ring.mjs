// A thread that waits for its notification, and then notifies the next thread.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { serve } from '../../lab/testbed/workers/worker-kit.mjs';
import { now } from './shared-state.mjs';

/** One section in this many lasts for a turn of the event loop, as in the scenarios. */
const LONGER = 8;

const gaps = [];
let [section, isOver, count] = [undefined, false, 0];

serve({
  async join({ target, place, count: size, sectionMs, commands, lastSent }) {
    const [own, hears] = [new Redis(target), new Redis(target)];
    const sent = new Float64Array(lastSent);
    section = async () => {
      if (sectionMs > 0) await sleep(sectionMs);
      else if (++count % LONGER === 0) await turn();
      if (isOver) return;
      sent[0] = now();
      await own.publish(`ring:${(place + 1) % size}`, 'yours');
      for (let i = 0; i < commands; i++) await own.ping();
    };
    await hears.subscribe(`ring:${place}`);
    hears.on('message', () => {
      gaps.push(now() - sent[0]);
      void section();
    });
  },

  begin: () => void section(),

  stop() {
    isOver = true;
    return gaps;
  },
});

import { Redis } from 'ioredis';
import { HOST } from '../../lab/testbed/servers/ports.mjs';
import { median } from './statistics.mjs';
import { Thread } from './threads.mjs';

const PINGS = 200;

/** A way to the server on which everything takes `delay` ms longer, each way. Tells how long a round trip is then. */
export async function openSlowNetwork(target, delay) {
  const thread = new Thread(new URL('./slow-proxy.mjs', import.meta.url));
  const slow = { host: HOST, port: await thread.call('open', { target, delay }) };
  const redis = new Redis(slow);
  const times = [];
  for (let i = 0; i < PINGS; i++) {
    const began = performance.now();
    await redis.ping();
    times.push(performance.now() - began);
  }
  redis.disconnect();
  return { target: slow, roundTrip: median(times), close: () => thread.end() };
}

import type { Session } from './session.js';

/** The time of the first server that answers, in ms. The ages of holds refer to that clock. */
export async function serverTime({ deployment }: Session): Promise<number> {
  const times = deployment.servers().map(async ({ client }) => {
    const [seconds, microseconds] = await client.time();
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  });
  return Promise.any(times).catch(() => Date.now());
}

/** ms of computation from which the share of a processor is read: several turns of a scheduler. */
const SAMPLE = 120;
const SLOWEST = 4;

/**
 * How many times longer than alone a computation takes on this machine now, between 1 and 4. Other processes that compute
 * delay the servers and the proxies of a run too, so its short time-outs grow by this factor.
 */
export function slowness() {
  const [begin, before] = [performance.now(), process.cpuUsage()];
  while (performance.now() - begin < SAMPLE);
  const { user, system } = process.cpuUsage(before);
  const took = performance.now() - begin;
  return Math.min(SLOWEST, Math.max(1, took / Math.max(1, (user + system) / 1_000)));
}

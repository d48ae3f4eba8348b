import { setTimeout as sleep } from 'node:timers/promises';
import { Holder, NewCaller, Waiters } from './roles/callers.mjs';
import { Control } from './roles/control.mjs';
import { startService } from './roles/services.mjs';

/** For so long, in ms, all calls have to be normal until the service counts as normal again. */
const QUIET = 2_000;
const WARM = 500;

/** One fault, and its effects on holders, waiters and new callers. */
export async function measure({ topology, untouched, fault, within }) {
  const control = new Control(untouched);
  const services = await Promise.all(Array.from({ length: 4 }, () => startService(topology.connection)));
  const holder = new Holder(services[0], control);
  const waiters = new Waiters(services.slice(1, 3), control);
  const newCaller = new NewCaller(services[3], control);
  const pulses = [holder.pulse, ...waiters.pulses, newCaller.pulse];
  try {
    await untilNormal(pulses, { quiet: WARM, within: 30_000 });
    const since = performance.now();
    await fault.inject(topology);
    const isNormal = await untilNormal(pulses, { quiet: QUIET, within });
    const until = performance.now();
    const ofPulses = (of) => Math.max(...of.map((pulse) => pulse.recovery(since, until)));
    const lost = holder.losses.filter((at) => at >= since);
    return {
      holders: ofPulses([holder.pulse]),
      waiters: ofPulses(waiters.pulses),
      newCallers: ofPulses([newCaller.pulse]),
      isKept: lost.length === 0,
      toldAfter: lost.length > 0 ? lost[0] - since : undefined,
      failures: pulses.map((pulse) => pulse.failures(since)).reduce(added, {}),
      problems: [...waiters.violations, ...(isNormal ? [] : [`no normal service within ${within} ms`])],
    };
  } finally {
    await Promise.race([Promise.all(pulses.map((pulse) => pulse.stop())), sleep(QUIET)]);
    await Promise.all([...services.map((service) => service.close()), control.stop()]);
  }
}

/** Whether all calls have been normal for `quiet` ms before `within` ms were over. */
async function untilNormal(pulses, { quiet, within }) {
  const [start, deadline] = [performance.now(), performance.now() + within];
  for (;;) {
    const since = Math.max(start, ...pulses.map((pulse) => pulse.normalSince));
    if (performance.now() - since >= quiet) return true;
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
}

function added(sum, more) {
  for (const [code, count] of Object.entries(more)) sum[code] = (sum[code] ?? 0) + count;
  return sum;
}

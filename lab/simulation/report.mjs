/** Adds the results of some runs to those of others. The digest does not depend on their order. */
export function add(sum, { outcomes, digest, findings }) {
  sum.digest = (sum.digest + digest) | 0;
  sum.findings.push(...findings);
  for (const [name, count] of Object.entries(outcomes)) sum.outcomes[name] = (sum.outcomes[name] ?? 0) + count;
}

/** The results of many runs, as lines. */
export function summaryOf({ seeds, outcomes, digest, findings }, seconds) {
  const { visits, scripts, belated, steps, faults, terms, quorums, quorumVisits, quorumHeld, reinstated, ...rest } =
    outcomes;
  return [
    `${seeds} runs in ${seconds.toFixed(1)} s: ${Math.round(seeds / seconds)} seeds per second`,
    `${visits} visits, ${scripts} scripts at the server (${belated} at a replaced master), ${faults} faults, ${terms} terms of leaders, ${steps} steps`,
    `of the visits ${Object.entries(rest)
      .map(([name, count]) => `${count} ${NAMES[name] ?? name}`)
      .join(', ')}`,
    `${quorums} of the runs over several masters: ${quorumHeld} of ${quorumVisits} visits got their locks, and masters restored ${reinstated} votes`,
    `digest of all events: ${textOf(digest)}`,
    findings.length === 0 ? 'nothing was found' : `${findings.length} seeds fail`,
  ];
}

const NAMES = {
  held: 'got their locks',
  inTurn: 'of them as members of a batch',
  timeouts: 'timed out',
  storeFailures: 'failed with the store',
  aborted: 'were aborted',
  upgrades: 'were refused because they would wait for themselves',
  lost: 'lost their lock',
  crashed: 'were running when their process crashed',
};

/** One seed that fails, as lines, and how to see it again. */
export function describeFinding({ seed, failure, shrunk }) {
  const lines = [`seed ${seed} fails at ${placeOf(failure)}`, `  ${failure.message}`, `  --seed ${seed}`];
  if (shrunk === undefined) return lines;
  return [
    ...lines,
    `after ${shrunk.shrinks} reductions of the schedule, it fails at ${placeOf(shrunk.failure)}`,
    `  ${shrunk.failure.message}`,
    ...shrunk.schedule.map((line) => `    ${line}`),
    `  --seed ${seed} --path ${shrunk.path}`,
  ];
}

/** @param {{ readonly step: number, readonly time: number }} failure */
export const placeOf = ({ step, time }) => `step ${step}, after ${time.toFixed(3)} ms`;

/** @param {number} digest */
export const textOf = (digest) => (digest >>> 0).toString(16).padStart(8, '0');

/** How long a thread or process runs on free keys before its first measurement, in ms. */
const LASTS = {
  full: { thread: 2_000, process: 4_000 },
  quick: { thread: 100, process: 300 },
};

/**
 * Lets threads or processes acquire and release keys of their own, once for each `name`: compilers make them faster for a
 * time. `members` have a set `warm` of the names for which that was done. `terms` are those of the scenario.
 */
export async function warmUp(members, { kind, name, terms: { mode, permits }, timing: { isQuick } }) {
  const ms = LASTS[isQuick ? 'quick' : 'full'][kind];
  const cold = members.filter(({ warm }) => !warm.has(name));
  await Promise.all(cold.map((member) => member.call('warm', { ms, mode, permits })));
  for (const { warm } of cold) warm.add(name);
}

const ROLES = ['holders', 'waiters', 'newCallers'];

/** The outcomes of all runs of a scenario. Times are in ms. */
export function summarize({ topology, fault, hold, test }, runs) {
  const times = {};
  for (const role of ROLES) {
    const values = runs.map((run) => run[role]).filter((value) => value !== undefined);
    if (values.length === 0) continue;
    times[role] = { median: Math.round(median(values)), worst: Math.round(Math.max(...values)) };
  }
  const kept = runs.filter(({ isKept }) => isKept).length;
  const told = runs.map(({ toldAfter }) => toldAfter).filter((value) => value !== undefined);
  return {
    ...{ topology, fault, hold, test, rounds: runs.length, kept, times },
    ...(told.length > 0 && { toldWithin: Math.round(Math.max(...told)) }),
    failures: failuresOf(runs),
    problems: [...new Set([...runs.flatMap(({ problems }) => problems), ...unexpected(hold, runs)])],
  };
}

function unexpected(hold, runs) {
  if (hold === 'kept' && runs.some(({ isKept }) => !isKept)) return ['a hold was lost that should have been kept'];
  if (hold === 'lost' && runs.some(({ isKept }) => isKept)) return ['a hold was kept that should have been lost'];
  return [];
}

/** The most calls that failed in one run, by the code of their error. */
function failuresOf(runs) {
  const most = {};
  for (const { failures } of runs) {
    for (const [code, count] of Object.entries(failures)) most[code] = Math.max(most[code] ?? 0, count);
  }
  return most;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

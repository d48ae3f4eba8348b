/** The faults that took away what the docs presume, with the time in which they did so, and of which key (or of all). */
export function readBreaks(faults) {
  return faults
    .filter(({ breaks }) => breaks !== undefined)
    .map(({ id, kind, breaks, key, begin, end = Infinity }) => ({
      fault: id,
      kind,
      assumption: breaks,
      key,
      from: begin,
      to: end,
    }));
}

/**
 * The break, if there is one, by which one of two that held a key at the same time may have been forgotten before the
 * other one got in: it came after the one had been asked for, and before the other one was told.
 */
export function excuseOf({ breaks }, one, other) {
  const forgets = (forgotten, next) => (each) => {
    const concerns = each.key === undefined || each.key === next.key;
    return concerns && each.to > forgotten.invokedAt && each.from < next.from;
  };
  return breaks.find(forgets(one, other)) ?? breaks.find(forgets(other, one));
}

/** The break by which a hold may have been taken from its holder before `at`. */
export function takenBy({ breaks }, { keys, invokedAt }, at) {
  return breaks.find(
    (each) => (each.key === undefined || keys.includes(each.key)) && each.to > invokedAt && each.from < at,
  );
}

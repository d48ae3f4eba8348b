import { inspect } from 'node:util';
import { KEYS, TIMES, type Fault, type Schedule, type Visit } from './schedule.js';

const PROCESS_NAMES = 'pqr';

/** The terms of a visit that are left out of its line. */
const USUAL: Partial<Visit> = {
  ...{ kind: 'exclusive', units: 1, owner: undefined, lease: 'renewed', holdAtLeast: 0, replicas: false },
  ...{ waitTimeout: TIMES.longWait, abortAfter: undefined, act: 'nothing', candidacy: undefined },
};

/** A schedule as a person reads it; clocks run faster by `drift` thousandths. */
export function describe({ servers, visits, faults, ...run }: Schedule): string[] {
  return [
    ...servers.map((server, place) => `server ${place + 1}: ${textOf(server)}`),
    `all: ${textOf(run)}`,
    ...visits.map(visitLine),
    ...faults.map(faultLine),
  ];
}

function visitLine({ process, caller, pause, keys, ...terms }: Visit): string {
  const special = Object.entries(terms).filter(
    ([name, value]) => !(name in USUAL && USUAL[name as keyof Visit] === value),
  );
  const who = `${PROCESS_NAMES[process]!}, caller ${caller}`;
  return `${who}: after ${pause} ms ${keys.map((key) => KEYS[key]!).join(' and ')} ${textOf(Object.fromEntries(special))}`;
}

const faultLine = ({ at, kind, process, server, key, lasts }: Fault): string =>
  `fault at ${at} ms: ${kind} (process ${PROCESS_NAMES[process]!}, server ${server + 1}, key ${KEYS[key]!}, ${lasts} ms)`;

const textOf = (terms: object): string => inspect(terms, { breakLength: Infinity });

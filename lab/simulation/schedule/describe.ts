import { KEYS, TIMES, type Candidacy, type Fault, type Schedule, type ServerTerms, type Visit } from './schedule.js';

const PROCESS_NAMES = 'pqr';

/** A schedule as a person reads it. */
export function describe({ noise, hasSmallLimits, servers, turns, drift, visits, faults }: Schedule): string[] {
  return [
    ...servers.map((server, place) => serverLine(server, servers.length === 1 ? 'the server' : `master ${place + 1}`)),
    `${turns.most} turns in ${turns.time} ms; clocks run faster by ${drift.map(perMille).join(', ')}; noise ${noise}${hasSmallLimits ? '; small limits' : ''}`,
    ...visits.map(visitLine),
    ...faults.map(faultLine),
  ];
}

function serverLine({ weather, drift, ahead }: ServerTerms, name: string): string {
  const { delay, ...shares } = weather;
  const bad = Object.entries(shares).filter(([, share]) => share > 0);
  const parts = [
    `${name}: messages take up to ${delay} ms, mostly`,
    ...bad.map(([what, share]) => `${what} ${share * 100} %`),
    `its clock is ${ahead} ms ahead and runs faster by ${perMille(drift)}`,
  ];
  return parts.join('; ');
}

const perMille = (n: number): string => `${n.toFixed(2)} ‰`;

function visitLine(visit: Visit): string {
  if (visit.candidacy !== undefined) return candidateLine(visit, visit.candidacy);
  const { process, caller, pause, keys, kind, units, owner, lease, waitTimeout, section, act } = visit;
  const parts = [
    `${PROCESS_NAMES[process]!}, caller ${caller}: after ${pause} ms ${keys.map((key) => KEYS[key]!).join(' and ')} ${kind}`,
    kind === 'permits' && `${units} of them`,
    owner !== undefined && `as ${owner}`,
    lease !== 'renewed' && `lease ${lease}`,
    visit.holdAtLeast > 0 && `for ${visit.holdAtLeast} ms at least`,
    visit.replicas && 'with replicas',
    waitTimeout !== TIMES.longWait && `waits ${waitTimeout} ms`,
    visit.abortAfter !== undefined && `aborts after ${visit.abortAfter} ms`,
    `section ${section} ms`,
    act !== 'nothing' && act,
  ];
  return parts.filter(Boolean).join(', ');
}

function candidateLine({ process, caller, pause }: Visit, candidacy: Candidacy): string {
  const { stands, work, farewell, finishTimeout, resignsAfter } = candidacy;
  const parts = [
    `${PROCESS_NAMES[process]!}, caller ${caller}: after ${pause} ms stands for election for ${stands} ms`,
    `works ${work} ms and ${farewell} ms afterwards, stands again ${finishTimeout} ms after a term at the latest`,
    resignsAfter !== undefined && `resigns after ${resignsAfter} ms`,
  ];
  return parts.filter(Boolean).join(', ');
}

const faultLine = ({ at, kind, process, server, key, lasts }: Fault): string =>
  `fault at ${at} ms: ${kind} (process ${PROCESS_NAMES[process]!}, server ${server + 1}, key ${KEYS[key]!}, ${lasts} ms)`;

import { KEYS } from '../schedule/schedule.js';
import type { Process } from '../world/process.js';
import type { Server } from '../world/server.js';
import type { Servers } from '../world/servers.js';
import { Violation } from './violation.js';

/** Nothing is left in the store but tokens, and how many permits there are. */
export function nothingIsStored({ all }: Servers): void {
  for (const server of all) {
    for (const key of KEYS) nothingIsStoredOf(server, key);
    const left = server.names.filter((name) => !REMEMBERED.test(name));
    if (left.length > 0) throw new Violation('leftovers', `${left.join()} is left on ${server.name}`);
  }
}

/**
 * Tokens, the number of permits, the names of clients, which latches have opened, and the ends of leases of a state that has
 * expired.
 */
const REMEMBERED = /^\w+:(fence|limit|client|counted|ends):/;

function nothingIsStoredOf(server: Server, key: string): void {
  const { holds, tickets } = server.inspect(key);
  if (holds.length + tickets.filter(({ isStale }) => !isStale).length === 0) return;
  throw new Violation('leftovers', `'${key}' is left on ${server.name}: ${JSON.stringify({ holds, tickets })}`);
}

/** Nothing is left in an engine that no caller uses any more, before it is closed. */
export function nothingIsRemembered(process: Process, someForget: boolean): void {
  const { engine, context, name } = process;
  const [grants, tickets, queues] = ['grants', 'tickets', 'queues'].map((part) => Reflect.get(engine, part) as object);
  const sizes = {
    acquisitions: process.acquisitions(someForget),
    holds: engine.grants.all().length,
    grants: sizeOf(grants!, 'byId'),
    setIds: sizeOf(tickets!, 'setIds'),
    tickets: sizeOf(tickets!, 'byId'),
    lines: sizeOf(tickets!, 'lines'),
    queues: sizeOf(queues!, 'keys'),
    timers: (Reflect.get(context.timers, 'heap') as unknown[]).length,
    watches: engine.latches === undefined ? 0 : sizeOf(engine.latches, 'watches'),
    releases: sizeOf(Reflect.get(engine, 'storeReleases') as object, 'pending'),
  };
  if (Object.values(sizes).every((size) => size === 0)) return;
  throw new Violation('leftovers', `the engine of ${name} remembers ${JSON.stringify(sizes)}`);
}

/** A closed engine has no timer, and keeps no process alive. */
export function nothingRuns({ clock, name }: Process): void {
  const { timersLeft: timers, awake } = clock;
  if (timers + awake > 0) throw new Violation('leftovers', `${name} has ${timers} timers, and ${awake} keep it alive`);
}

const sizeOf = (of: object, name: string): number => (Reflect.get(of, name) as { size: number }).size;

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { TicketPace, type PacedTicket } from '../../../lib/engine/ticket-pace.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('keeps no ticket that has asked, although there are always others that have to', async () => {
  const tickets = new Map<string, PacedTicket>();
  const store = { mayKeepPlaces: false, isPartitioned: false };
  const pace = new TicketPace(
    {
      get size() {
        return tickets.size;
      },
      get: (id) => tickets.get(id),
      values: () => [...tickets.values()],
    },
    store,
  );
  const asked: string[] = [];
  const early: Array<WeakRef<PacedTicket>> = [];
  let count = 0;
  const begin = (): void => {
    const id = `${count++}`;
    const ticket: PacedTicket = {
      id,
      isNew: true,
      terms: { key: id },
      askSoon: () => undefined,
      tryAcquireOrEnqueue() {
        asked.push(id);
        pace.sent();
      },
    };
    tickets.set(id, ticket);
    if (early.length < 1_000) early.push(new WeakRef(ticket));
    pace.ask(ticket);
  };
  for (let i = 0; i < 1_000; i++) begin();
  expect(asked).toHaveLength(500);
  for (let i = 0; i < 10_000; i++) {
    tickets.delete(asked[i]!);
    pace.settled(i);
    begin();
  }
  expect(asked.slice(0, 10_000)).toEqual(Array.from({ length: 10_000 }, (_, i) => `${i}`));
  // A weak reference keeps its target until the end of the turn in which it was made.
  await new Promise(setImmediate);
  collectGarbage();
  expect(early.filter((ticket) => ticket.deref() !== undefined)).toHaveLength(0);
});

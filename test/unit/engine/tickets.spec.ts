import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { Tickets, type TicketInTable } from '../../../lib/engine/tickets.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('keeps no ticket that has asked, although there are always others that have to', async () => {
  const tickets = new Tickets({ mayKeepPlaces: false, isPartitioned: false });
  const asked: string[] = [];
  const early: Array<WeakRef<TicketInTable>> = [];
  let count = 0;
  const begin = (): void => {
    const id = `${count++}`;
    const ticket: TicketInTable = {
      ...{ id, isNew: true, key: id, keepsOrder: true, follows: false },
      ...{ line: undefined, list: undefined, before: undefined, behind: undefined },
      ...{ askSoon() {}, pushed() {}, retryAfter() {}, revoked() {}, yield() {} },
      ask() {
        asked.push(id);
        tickets.sent();
      },
    };
    tickets.add(ticket, undefined);
    if (early.length < 1_000) early.push(new WeakRef(ticket));
    tickets.askInTurn(ticket);
  };
  for (let i = 0; i < 1_000; i++) begin();
  expect(asked).toHaveLength(500);
  for (let i = 0; i < 10_000; i++) {
    tickets.remove(tickets.get(asked[i]!)!, asked[i]!);
    tickets.settled(i);
    begin();
  }
  expect(asked.slice(0, 10_000)).toEqual(Array.from({ length: 10_000 }, (_, i) => `${i}`));
  // A weak reference keeps its target until the end of the turn in which it was made.
  await new Promise(setImmediate);
  collectGarbage();
  expect(early.filter((ticket) => ticket.deref() !== undefined)).toHaveLength(0);
});

import { WakeList } from '../../../lib/redisson/wake-list.js';

describe('a wake list', () => {
  let woken: string[];
  let list: WakeList;
  beforeEach(() => {
    woken = [];
    list = new WakeList((id) => woken.push(id));
  });

  const requestOf = (id: string, since?: number, kind = 'exclusive') => ({ id, since, mode: { kind } });
  const join = (...ids: string[]): void => ids.forEach((id) => list.join(requestOf(id), 'c'));

  it('a message wakes the waiter that has waited longest, until that has left', () => {
    join('a', 'b');
    list.wakeFirst('other');
    list.wakeFirst('c');
    list.requesting('a');
    list.answered('a');
    list.wakeFirst('c');
    expect(woken).toEqual(['a', 'a']);
    list.requesting('a');
    list.leave('a');
    list.wakeFirst('c');
    expect(woken).toEqual(['a', 'a', 'b']);
  });

  it('a waiter that leaves before it has tried passes the message on', () => {
    join('a', 'b');
    list.wakeFirst('c');
    list.leave('a');
    expect(woken).toEqual(['a', 'b']);
    list.leave('b');
    list.wakeFirst('c');
    expect(woken).toEqual(['a', 'b']);
  });

  it('a message about permits wakes as many waiters as permits are free', () => {
    join('a', 'b', 'c');
    list.wakeSome('c', -1);
    list.wakeSome('c', 0);
    expect(woken).toEqual([]);
    list.wakeSome('c', 2);
    expect(woken).toEqual(['a', 'b']);
    list.leave('a');
    expect(woken).toEqual(['a', 'b', 'c']);
    list.wakeSome('c', 9);
    expect(woken).toEqual(['a', 'b', 'c', 'b', 'c']);
  });

  it('a message for all wakes all', () => {
    join('a', 'b');
    list.wakeAll('c');
    expect(woken).toEqual(['a', 'b']);
  });

  it('says whether a message has come since the latest request', () => {
    list.requesting('a');
    join('a');
    expect(list.isWoken('a')).toBe(false);
    list.wakeFirst('c');
    expect(list.isWoken('a')).toBe(true);
    list.requesting('a');
    expect(list.isWoken('a')).toBe(false);
  });

  it('an acquisition that is over does not join, and is forgotten with its last request', () => {
    list.requesting('a');
    list.leave('a');
    expect(list.isOver('a')).toBe(true);
    join('a');
    list.wakeFirst('c');
    expect(woken).toEqual([]);
    list.answered('a');
    expect(list.isOver('a')).toBe(false);
  });

  describe('a later caller', () => {
    const ask = (id: string, kind?: string): readonly string[] | undefined => {
      list.requesting(id);
      list.join(requestOf(id, undefined, kind), 'c');
      return list.holdersBefore(requestOf(id, undefined, kind), 'c');
    };

    it('does not pass an earlier waiter, and is woken when that waiter leaves', () => {
      expect(ask('a')).toBeUndefined();
      // Nothing is known yet: both are sent.
      expect(ask('b')).toBeUndefined();
      list.contended('a', ['holder']);
      list.contended('b', ['holder']);
      expect(ask('b')).toEqual(['holder']);
      expect(ask('c')).toEqual(['holder']);
      list.contended('c', ['holder']);
      expect(ask('a')).toBeUndefined();
      list.leave('a');
      expect(woken).toEqual(['b']);
      list.leave('b');
      expect(woken).toEqual(['b', 'c']);
    });

    it('is sent if the request before it has failed', () => {
      ask('a');
      list.contended('a', ['holder']);
      list.contended('a', undefined);
      expect(ask('b')).toBeUndefined();
    });

    it('that reads passes no writer, but readers', () => {
      ask('r', 'read');
      list.contended('r', ['holder']);
      expect(ask('s', 'read')).toBeUndefined();
      expect(ask('w')).toEqual(['holder']);
      list.contended('w', ['holder']);
      for (const id of ['t', 'u']) {
        expect(ask(id, 'read')).toEqual(['holder']);
        list.contended(id, ['holder']);
      }
      list.leave('r');
      list.leave('s');
      list.leave('w');
      expect(woken).toEqual(['w', 't', 'u']);
    });

    it('stands behind callers that came earlier, whenever their requests were made', () => {
      list.join(requestOf('b', 2), 'c');
      list.join(requestOf('a', 1), 'c');
      list.wakeFirst('c');
      expect(woken).toEqual(['a']);
    });
  });
});

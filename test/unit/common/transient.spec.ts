import { TransientMap, TransientSet } from '../../../lib/common/transient.js';

describe('a transient map', () => {
  it('keeps insertion order, however many entries are added and removed', () => {
    const map = new TransientMap<string, number>();
    const model = new Map<string, number>();
    const wrong: string[] = [];
    for (let i = 0; i < 3_000; i++) {
      map.set(`${i}`, i);
      model.set(`${i}`, i);
      const gone = `${i - 1 - ((i * 7) % 100)}`;
      const [was, is] = [model.delete(gone), map.delete(gone)];
      if (is !== was || map.size !== model.size || map.get(gone) !== undefined || !map.has(`${i}`)) wrong.push(gone);
    }
    expect(wrong).toEqual([]);
    expect(map.values()).toEqual([...model.values()]);
  });

  it('keeps the place of an entry that is set again', () => {
    const map = new TransientMap<string, number>();
    map.set('a', 1);
    map.set('b', 2);
    map.set('a', 3);
    expect(map.values()).toEqual([3, 2]);
  });

  it('can be emptied during iteration', () => {
    const set = new TransientSet<number>();
    for (let i = 0; i < 1_000; i++) set.add(i);
    const seen = set.values().filter((item) => set.delete(item));
    expect(seen).toHaveLength(1_000);
    expect(set.size).toBe(0);
    expect(set.delete(1)).toBe(false);
  });
});

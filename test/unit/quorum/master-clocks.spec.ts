import { MasterClocks } from '../../../lib/store/quorum/master-clocks.js';
import { SILENT } from '../engine/support.js';

const MASTERS = [1, 2, 3].map((number) => ({ name: `master ${number}` }));

function clocksOf(): { clocks: MasterClocks; warnings: string[] } {
  const warnings: string[] = [];
  return { clocks: new MasterClocks({ ...SILENT, warn: (text) => void warnings.push(text) }), warnings };
}

/** All masters answer at a moment, by clocks that are ahead of ours by so many ms. */
function read(clocks: MasterClocks, moment: number, ahead: readonly number[], roundTrip = 2): void {
  ahead.forEach((ms, place) => {
    clocks.note(MASTERS[place]!, { time: moment + ms, sent: moment - roundTrip / 2, received: moment + roundTrip / 2 });
  });
}

describe('the clocks of masters', () => {
  it('cause one warning if they differ by more than a second', () => {
    const { clocks, warnings } = clocksOf();
    read(clocks, 0, [5_000, 5_900, 5_000]);
    expect(warnings).toEqual([]);
    for (const moment of [20_000, 40_000, 60_000]) read(clocks, moment, [5_000, 3_500, 5_000]);
    expect(warnings).toEqual([expect.stringMatching(/^the clock of master 2 is 1\.5 s behind/)]);
    read(clocks, 80_000, [5_000, 5_000, 5_000]);
    for (const moment of [100_000, 120_000]) read(clocks, moment, [5_000, 5_000, 9_000]);
    expect(warnings).toHaveLength(2);
  });

  it('cause one warning if only two masters reply and differ', () => {
    const { clocks, warnings } = clocksOf();
    read(clocks, 0, [0, 3_600_000]);
    // The third master may reply in a moment.
    expect(warnings).toEqual([]);
    for (const moment of [1_100, 2_500, 13_000, 25_000]) read(clocks, moment, [0, 3_600_000]);
    expect(warnings).toEqual([
      expect.stringMatching(/^the clock of master 2 is 3600\.0 s ahead of that of master 1: /),
    ]);
    // The third one tells which of them is wrong.
    for (const moment of [40_000, 52_000]) read(clocks, moment, [0, 3_600_000, 3_600_000]);
    expect(warnings.slice(1)).toEqual([
      expect.stringMatching(/^the clock of master 1 is 3600\.0 s behind that of the other masters: /),
    ]);
  });

  it('cause no warning if two masters agree, or the machine was suspended', () => {
    const { clocks, warnings } = clocksOf();
    for (const moment of [0, 1_500]) read(clocks, moment, [0, 900]);
    for (const moment of [11_600, 23_000, 25_000]) read(clocks, moment, [3_600_000, 3_600_000]);
    for (const moment of [36_000, 47_000, 58_000]) read(clocks, moment, [7_200_000, 7_200_000, 7_200_000]);
    expect(warnings).toEqual([]);
  });

  it('cause no warning if round trips may explain it', () => {
    const { clocks, warnings } = clocksOf();
    read(clocks, 0, [0, 2_400, 0], 3_000);
    expect(warnings).toEqual([]);
  });

  it('give the earliest time of a master, unless the reading is old', () => {
    const { clocks } = clocksOf();
    expect(clocks.timeAt(MASTERS[1]!, 5_000, 1)).toBeUndefined();
    read(clocks, 0, [0, 700, 0]);
    expect(clocks.timeAt(MASTERS[1]!, 5_000, 1)).toBe(5_699);
    expect(clocks.timeAt(MASTERS[1]!, 70_000, 65_000)).toBeUndefined();
  });
});

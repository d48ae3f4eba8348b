import { contention } from './contention.mjs';

/** A scenario in which 16 callers want one key all the time, and hold it for `sectionMs` ms. */
export const longSections = (sectionMs) =>
  contention({
    name: `section-${sectionMs}ms`,
    title: `Sections of ${sectionMs} ms, 4 processes × 4 callers`,
    processes: 4,
    waiters: 4,
    sectionMs,
    about: `All want the same key all the time; a section is ${sectionMs} ms. Node rounds it up to the next whole ms.`,
  });

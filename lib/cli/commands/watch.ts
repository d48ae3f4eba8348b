import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandLine } from '../arguments.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { describeForeign } from '../../service/list-locks.js';
import type { LockState } from '../../service/lock-state.js';
import { grouped } from '../../service/party-names.js';
import { foreignError } from '../../store/redis/foreign-error.js';
import { findLocks } from '../find-locks.js';
import { locksTable } from '../output/locks-table.js';
import { PLAIN, type Style } from '../output/style.js';
import { CLEAR, without, type Terminal } from '../output/terminal.js';
import { safe, safeJson, time } from '../output/texts.js';
import { fitTo, widthOf } from '../output/width.js';
import { serverTime, type Session } from '../session.js';
import { noneOf } from './ls.js';

/** The lines of the screen that no lock takes: the counts, the headings, and the one of the cursor. */
const OTHER_LINES = 2;
/** How many skipped keys the screen names. */
const MOST_NOTES = 3;
const OLD = 'The locks below are from then. Their leases may have ended.';
/** A screen says that it is old if a refresh takes longer, in ms. */
const SLOW = 2_000;

/** Shows all locks until SIGINT or SIGTERM. With --json, each refresh writes one line. */
export async function watch(session: Session, line: CommandLine, terminal: Terminal): Promise<ExitCode> {
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const view = new WatchView(session, line, terminal, stopped.signal);
  try {
    const end = once(stopped.signal, 'abort');
    while (!stopped.signal.aborted) {
      await Promise.race([view.refresh(), end]);
      await sleep(line.interval, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  return EXIT.ok;
}

/** What the last refresh has read. */
interface Seen {
  readonly locks: readonly LockState[];
  readonly notes: string;
  /** The text in place of the table if there are no locks. */
  readonly none: string;
  /** By the server's clock. */
  readonly serverTime: number;
  /** By the clock of this process, which is not set. */
  readonly at: number;
}

/** The screen of `watch`. If Redis does not answer, it says since when, and shows what it has read as old. */
export class WatchView {
  private seen: Seen | undefined;

  constructor(
    private readonly session: Session,
    private readonly line: CommandLine,
    private readonly terminal: Terminal,
    private readonly stopped: AbortSignal,
  ) {}

  /** Reads the locks and shows them. A failure is reported, and the next refresh follows. */
  async refresh(): Promise<void> {
    const slow = setInterval(() => {
      if (this.seen !== undefined && this.isScreen) this.complain('Redis has not answered yet');
    }, SLOW);
    try {
      await this.read();
    } catch (error) {
      this.complain(safe(foreignError(error).message));
    } finally {
      clearInterval(slow);
    }
  }

  /** Whether a table is shown that the next one replaces. */
  private get isScreen(): boolean {
    return this.terminal.isInteractive && !this.line.json;
  }

  private async read(): Promise<void> {
    const { session, line, terminal } = this;
    const { locks, skipped } = await findLocks(session, line);
    const notes = skipped
      .slice(0, terminal.isInteractive ? MOST_NOTES : skipped.length)
      .map((foreign) => `${safe(describeForeign(foreign))}\n`)
      .join('');
    const none = locks.length > 0 || line.json ? '' : `${await noneOf(session, line)}\n`;
    const now = await serverTime(session);
    if (this.stopped.aborted) return;
    this.seen = { locks, notes, none, serverTime: now, at: performance.now() };
    if (!line.json) return this.show(terminal.style, this.seen, '');
    if (notes !== '') terminal.complain(notes);
    terminal.write(`${safeJson({ at: new Date(), locks })}\n`);
  }

  /** Says why there is nothing new, and that what was shown is old. */
  private complain(why: string): void {
    // A request that the end of the program interrupts has not failed.
    if (this.stopped.aborted) return;
    const { seen, terminal } = this;
    if (seen === undefined) return terminal.complain(`${why}\n`);
    const since = `${new Date(seen.serverTime).toISOString()} (${time(performance.now() - seen.at)})`;
    const notice = `No data from Redis since ${since}`;
    if (!this.isScreen) return terminal.complain(`${notice}: ${why}\n`);
    const { style, space } = terminal;
    const reason = widthOf(why) > space.columns ? fitTo(why, space.columns) : why;
    this.show(style, seen, `${style.bad(notice)}\n${reason}\n${OLD}\n`);
  }

  /** `notice`: why the locks are old. They are then shown in grey. */
  private show(style: Style, { locks, notes, none, serverTime: now }: Seen, notice: string): void {
    const { isInteractive, space } = this.terminal;
    const waiting = locks.reduce((sum, { waiters }) => sum + waiters.length, 0);
    const counts = `${grouped(locks.length)} locked, ${grouped(waiting)} in the queues`;
    const heading = style.dim(`${new Date(now).toISOString()}  ${counts}`);
    const taken = OTHER_LINES + `${notice}${notes}`.split('\n').length;
    const table = none || locksTable(notice === '' ? style : PLAIN, locks, now, without(space, taken));
    const rows = notice === '' ? table : table.replace(/.+/g, (row) => style.dim(row));
    this.terminal.write(
      `${isInteractive ? CLEAR : ''}${notice}${heading}\n${rows}${notes}${isInteractive ? '' : '\n'}`,
    );
  }
}

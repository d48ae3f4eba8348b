import { durationIn } from '../common/duration.js';
import { LONGEST_SUSPICIOUS_WAIT } from './option-readers.js';

/** Options that were written side by side. */
export interface SuspiciousOptions {
  readonly expire?: unknown;
  readonly maxRenewTimes?: unknown;
  readonly waitTimeout?: unknown;
}

/** Warnings about options that are allowed and probably a mistake. The options themselves have been checked. */
export function warningsAbout(label: string, { expire, maxRenewTimes, waitTimeout }: SuspiciousOptions): string[] {
  const warnings: string[] = [];
  if (Number(maxRenewTimes) > 0 && Number(durationIn(expire)) > 0) {
    warnings.push(
      `${label}: maxRenewTimes has no effect beside expire, a fixed lease, which is not renewed: leave one of them out.`,
    );
  }
  if (typeof waitTimeout === 'number' && waitTimeout >= 1 && waitTimeout <= LONGEST_SUSPICIOUS_WAIT) {
    warnings.push(
      `${label}: waitTimeout is ${waitTimeout}, which is in milliseconds: write '${waitTimeout}s' if seconds were meant, ` +
        `or '${waitTimeout}ms'.`,
    );
  }
  return warnings;
}

/** At most this many different warnings are logged, because a caller may make a new pattern for each call. */
const MOST_WARNINGS = 100;

/** Logs each warning once for each label, whatever the values of the options. */
export class OptionWarnings {
  private readonly logged = new Set<string>();

  constructor(private readonly warn: (warning: string) => void) {}

  about(label: string, options: SuspiciousOptions): void {
    for (const warning of warningsAbout(label, options)) {
      // A caller may compute the value anew for each call.
      const name = warning.replaceAll(String(options.waitTimeout), '');
      if (this.logged.has(name) || this.logged.size >= MOST_WARNINGS) continue;
      this.logged.add(name);
      this.warn(warning);
    }
  }
}

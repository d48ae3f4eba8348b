import type { CliResult } from './cli.js';

interface Report {
  readonly ok: boolean;
  readonly findings: ReadonlyArray<{ status: string; check: string; found: string; advice?: string }>;
}

/** The report that `doctor --json` has written. */
export function readReport({ stdout, code }: CliResult) {
  const { ok, findings } = JSON.parse(stdout) as Report;
  const about = (check: string) => findings.filter((finding) => finding.check === check);
  return { code, ok, findings, about, amiss: findings.filter(({ status }) => status !== 'ok') };
}

/** What `doctor` checks on each server, in this order. `more`: what it checks in a Cluster as well. */
export const checksOfServer = (...more: string[]): string[] => [
  ...['server version', 'uptime', 'role', 'eviction policy', 'evicted keys', 'memory', 'saving', 'persistence'],
  ...['permissions', 'pub/sub', ...more, 'idle timeout', 'output buffers', 'round trip', 'clock'],
];

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPromtool } from '../../scripts/lib/promtool.mjs';

const RULES = fileURLToPath(new URL('../../docs/alert-rules.yml', import.meta.url));
/** So often the metrics are read, in ms. The rules take each reading for one minute. */
const EVERY = 500;

/** Scrapes the processes of one situation, and says which of the alert rules have fired. */
export class Scrapes {
  /** The values of each series, by the number of the scrape. */
  #series = new Map();
  #count = 0;
  #urls;
  #timer;
  #current = Promise.resolve();

  /** `urls`: the addresses of the processes, by their names. */
  constructor(urls) {
    this.#urls = urls;
    this.#timer = setInterval(() => (this.#current = this.#scrape()), EVERY);
  }

  async #scrape() {
    const at = this.#count++;
    await Promise.all([...this.#urls].map(([pod, url]) => this.#read(pod, url, at).catch(() => undefined)));
  }

  async #read(pod, url, at) {
    const answer = await fetch(`${url}/metrics`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(5_000),
    });
    for (const line of (await answer.text()).split('\n')) {
      const [, name, labels, value] = /^(redis_lock_\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const series = `${name}{pod="${pod}",${labels}}`;
      const values = this.#series.get(series) ?? [];
      this.#series.set(series, values);
      values[at] = value;
    }
  }

  async stop() {
    clearInterval(this.#timer);
    await this.#current;
  }

  /** The names of the alerts that have fired; `undefined` without promtool. */
  async end() {
    await this.stop();
    // An alert may have to last for a minute.
    for (let i = 0; i < 4; i++) await this.#scrape();
    let promtool;
    try {
      promtool = findPromtool();
    } catch {
      return undefined;
    }
    const directory = mkdtempSync(join(tmpdir(), 'locks-drill-'));
    try {
      const file = join(directory, 'test.yml');
      const series = [...this.#series].map(([name, values]) => ({
        series: name,
        values: Array.from({ length: this.#count }, (_, i) => values[i] ?? '_').join(' '),
      }));
      const expr = 'count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1d]))';
      const question = { expr, eval_time: `${this.#count}m`, exp_samples: [{ labels: '{}', value: -1 }] };
      const test = { interval: '1m', input_series: series, promql_expr_test: [question] };
      writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [test] }));
      // The question expects an answer that it never gets: the difference names what was found.
      execFileSync(promtool, ['test', 'rules', file], { stdio: 'pipe' });
      return [];
    } catch (error) {
      const found = `${error.stdout}${error.stderr}`;
      if (!found.includes('got:')) throw error;
      return [...new Set([...found.matchAll(/alertname="?(\w+)/g)].map(([, name]) => name))].sort();
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
}

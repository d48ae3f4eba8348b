import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/lib/chromium.mjs';

const DISABLED = ['gpu', 'quic', 'background-networking', 'component-update', 'sync'];

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
}

/** A Chromium with a profile of its own, its requests and its complaints. */
export class Browser implements AsyncDisposable {
  readonly requests: string[] = [];
  readonly complaints: string[] = [];

  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
    private readonly profile: string,
  ) {
    page.on('request', (request) => this.requests.push(request.url()));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(error.message));
  }

  static async start({ width = 1280, height = 900, scheme = 'light' }: Look = {}): Promise<Browser> {
    const profile = mkdtempSync(join(tmpdir(), 'locks-browser-'));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: findChromium(),
      headless: true,
      chromiumSandbox: false,
      args: ['--no-first-run', ...DISABLED.map((name) => `--disable-${name}`)],
      viewport: { width, height },
      colorScheme: scheme,
      reducedMotion: 'reduce',
    });
    return new Browser(context, context.pages()[0] ?? (await context.newPage()), profile);
  }

  get hosts(): string[] {
    const remote = this.requests.filter((url) => /^https?:/.test(url));
    return [...new Set(remote.map((url) => new URL(url).host))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true });
  }
}

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Controller, Get, Inject, Post, Req, Res, UseGuards, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { messageOf } from '../common/describe.js';
import { isLockKeyError } from '../errors/index.js';
import type { ResolvedDashboardPlace } from './dashboard.options.js';
import { LockDashboard, type ReleaseOrder, type ReleaseOutcome } from './lock-dashboard.js';
import { readQuery, type LockQuery } from './lock-query.js';
import type { Observatory } from './observatory.js';
import { PAGE } from './page.generated.js';
import { changeRefusal, readingRefusal } from './same-origin.js';
import { StateStream } from './state-stream.js';

/** The parts that Express and Fastify share. */
interface DashboardRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query: unknown;
  readonly body: unknown;
  /** What a guard has found out about the user: the convention of Passport and its like. */
  readonly user?: unknown;
}
type DashboardResponse = ServerResponse | { readonly raw: ServerResponse; hijack(): void };

/** How many pages can have an event stream. Further pages have to poll. */
const MOST_STREAMS = 50;

const HEADERS = Object.freeze({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
});
const PAGE_HEADERS = Object.freeze({
  ...HEADERS,
  'content-security-policy': PAGE.policy,
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
});

const STATUS = { released: 200, free: 200, changed: 409, 'read-only': 403 } as const satisfies Record<
  ReleaseOutcome['outcome'],
  number
>;

/**
 * Writes its responses itself instead of returning them, so that interceptors that wrap the results of handlers do not
 * wrap the page.
 */
class DashboardController {
  constructor(
    @Inject(LockDashboard) private readonly dashboard: LockDashboard,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  @Get()
  page(@Res() response: DashboardResponse): void {
    this.reply(response, 200, PAGE.html, { ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' });
  }

  @Get('state')
  async state(@Req() request: DashboardRequest, @Res() response: DashboardResponse): Promise<void> {
    const observatory = this.observatoryFor(request, response, readingRefusal(request.headers));
    if (observatory !== undefined) this.json(response, 200, await observatory.look(queryOf(request)));
  }

  @Get('events')
  events(@Req() request: DashboardRequest, @Res() response: DashboardResponse): void {
    const observatory = this.observatoryFor(request, response, readingRefusal(request.headers));
    if (observatory === undefined) return;
    const { dashboard } = this;
    if (dashboard.isClosing || dashboard.streams.size >= MOST_STREAMS) {
      return this.refuse(response, 503, 'too many event streams: poll the state instead');
    }
    const raw = rawOf(response);
    // The browser may have left while a guard decided. Its response emits no further `close`.
    if (raw.destroyed) return;
    const stream = new StateStream(raw);
    const unwatch = observatory.watch({ query: queryOf(request), receive: (state) => stream.send(state) });
    dashboard.streams.add(stream);
    stream.onClose(() => {
      unwatch();
      dashboard.streams.delete(stream);
    });
  }

  @Post('release')
  async release(@Req() request: DashboardRequest, @Res() response: DashboardResponse): Promise<void> {
    const observatory = this.observatoryFor(request, response, changeRefusal(request.headers));
    if (observatory === undefined) return;
    const order = readOrder(request.body);
    if (order === undefined) return this.refuse(response, 400, 'the body must contain key and fencingToken');
    try {
      const outcome = await this.dashboard.release(observatory, { ...order, user: userOf(request) });
      this.json(response, STATUS[outcome.outcome], JSON.stringify(outcome));
    } catch (error) {
      this.refuse(response, isLockKeyError(error) ? 400 : 503, messageOf(error));
    }
  }

  private observatoryFor(
    { query }: DashboardRequest,
    response: DashboardResponse,
    refusal: string | undefined,
  ): Observatory | undefined {
    if (refusal !== undefined) {
      this.refuse(response, 403, refusal);
      return undefined;
    }
    const instance = (query as { instance?: unknown } | undefined)?.instance;
    const observatory = this.dashboard.observatory(typeof instance === 'string' ? instance : undefined);
    if (observatory === undefined) this.refuse(response, 404, 'there is no instance of this name');
    return observatory;
  }

  private refuse(response: DashboardResponse, status: number, error: string): void {
    this.json(response, status, JSON.stringify({ error }));
  }

  private json(response: DashboardResponse, status: number, body: string): void {
    this.reply(response, status, body, { ...HEADERS, 'content-type': 'application/json; charset=utf-8' });
  }

  private reply(response: DashboardResponse, status: number, body: string, headers: Record<string, string>): void {
    const { httpAdapter } = this.host;
    for (const [name, value] of Object.entries(headers)) httpAdapter.setHeader(response, name, value);
    httpAdapter.reply(response, body, status);
  }
}

function rawOf(response: DashboardResponse): ServerResponse {
  if (!('raw' in response)) return response;
  response.hijack();
  return response.raw;
}

const queryOf = ({ query }: DashboardRequest): LockQuery => readQuery((query ?? {}) as Record<string, unknown>);

function readOrder(body: unknown): ReleaseOrder | undefined {
  const { key, fencingToken, hold } = (body ?? {}) as Partial<Record<keyof ReleaseOrder, unknown>>;
  if (typeof key !== 'string' || typeof fencingToken !== 'number') return undefined;
  return hold === undefined || typeof hold === 'string' ? { key, fencingToken, hold } : undefined;
}

/** Where guards put the name of a user, in this order. */
const NAMES_OF_USERS = ['username', 'email', 'name', 'sub', 'id'];
const LONGEST_NAME = 100;

/** The user that a guard has accepted: of `request.user`, or the name (never the password) of basic authentication. */
function userOf({ user, headers }: DashboardRequest): string | undefined {
  const fields = typeof user === 'object' && user !== null ? (user as Record<string, unknown>) : {};
  const [, encoded] = /^Basic (\S+)$/i.exec(headers.authorization ?? '') ?? [];
  const [basic] = encoded === undefined ? [] : Buffer.from(encoded, 'base64').toString().split(':');
  const names = [user, ...NAMES_OF_USERS.map((field) => fields[field]), basic];
  for (const name of names) {
    if (typeof name === 'number') return String(name);
    if (typeof name === 'string' && name.trim() !== '') return name.slice(0, LONGEST_NAME);
  }
  return undefined;
}

/** Makes a controller for each path, because path and guards are metadata of the class. */
export function controllerAt({ path, guards }: ResolvedDashboardPlace): Type {
  class LockDashboardController extends DashboardController {}
  // Independent of the versions of the application's other routes.
  Controller({ path, version: VERSION_NEUTRAL })(LockDashboardController);
  if (guards.length > 0) UseGuards(...guards)(LockDashboardController);
  return LockDashboardController;
}

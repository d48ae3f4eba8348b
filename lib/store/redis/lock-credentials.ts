import { LockConfigError } from '../../errors/index.js';
import { describe, quote } from '../../common/describe.js';

/** The login of a connection, for servers whose passwords expire. */
export interface LockCredentials {
  /** The name of the user. If left out, it is `default`. */
  readonly username?: string;
  readonly password: string;
  /** When the password expires. If left out, it is used until the connection ends. */
  readonly expiresAt?: Date | number;
}

/** Returns the login for a connection. It is called for each new connection, and again before `expiresAt`. */
export type LockCredentialsProvider = () => Promise<LockCredentials> | LockCredentials;

/** After which part of its time a password is replaced: the least, and what chance adds to it, so that lines take turns. */
const EARLIEST = 0.75;
const SPREAD = 0.15;
/** After how many ms a function that has failed is called again, and the shortest time for which a password is used. */
const SHORTEST = 1_000;

/** For how many ms a password is used; `undefined`: until the connection ends. Without a login, it is asked for again. */
export function lifetimeOf(login: LockCredentials | undefined): number | undefined {
  if (login === undefined) return SHORTEST;
  if (login.expiresAt === undefined) return undefined;
  const left = Number(login.expiresAt) - Date.now();
  return Math.max(SHORTEST, left * (EARLIEST + SPREAD * Math.random()));
}

const PROPERTIES = ['username', 'password', 'expiresAt'];
/** A time before 1973, so it is in seconds. */
const IN_SECONDS = 1e11;

/** @throws LockConfigError if the function has returned something else than a login */
export async function callProvider(provide: LockCredentialsProvider): Promise<LockCredentials> {
  const credentials: unknown = await provide();
  const { username, password, expiresAt } = (credentials ?? {}) as Partial<LockCredentials>;
  const unknown = Object.keys(credentials ?? {}).find((name) => !PROPERTIES.includes(name));
  const wrong = [
    typeof password !== 'string' && `password is ${describe(password)}`,
    !['undefined', 'string'].includes(typeof username) && `username is ${describe(username)}`,
    expiresAt !== undefined && !Number.isFinite(Number(expiresAt)) && `expiresAt is ${describe(expiresAt)}`,
    expiresAt !== undefined && Number(expiresAt) < IN_SECONDS && 'expiresAt is in seconds, so multiply it by 1000',
    unknown !== undefined && `property ${quote(unknown)} is unknown`,
  ].find(Boolean);
  if (wrong === undefined) return credentials as LockCredentials;
  throw new LockConfigError(
    `connection.credentials returned a login whose ${wrong}: ` +
      'return { username, password, expiresAt } with texts, and a Date or the milliseconds since 1970.',
  );
}

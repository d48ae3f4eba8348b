import type { Redis } from 'ioredis';
import { isRefusal } from '../session.js';

/** What INFO tells, by name; `undefined`: the user may not ask. */
export type ServerInfo = ReadonlyMap<string, string>;

export async function readServerInfo(client: Redis): Promise<ServerInfo | undefined> {
  try {
    const text = await client.info();
    return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name!, value!]));
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

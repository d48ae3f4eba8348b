import type { Redis } from 'ioredis';
import { isRefusal } from '../deployment/deployment.js';

/** The fields of INFO by name. */
export type ServerInfo = ReadonlyMap<string, string>;

/** `undefined`: the user may not call INFO. */
export async function readServerInfo(client: Redis): Promise<ServerInfo | undefined> {
  try {
    return readFacts(await client.info());
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/** Reads lines such as `role:master`. */
export const readFacts = (text: string): ServerInfo =>
  new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name!, value!]));

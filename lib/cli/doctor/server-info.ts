import { answerUnless, isRefusal } from '../deployment/deployment.js';

/** The fields of INFO or CLUSTER INFO by name. */
export type ServerInfo = ReadonlyMap<string, string>;

/** Reads lines such as `role:master`. `undefined`: the user may not call the command. */
export async function readInfo(answer: Promise<string>): Promise<ServerInfo | undefined> {
  const text = await answerUnless(isRefusal, answer);
  const lines = text?.matchAll(/^(\w+):(.*?)\r?$/gm);
  return lines && new Map([...lines].map(([, name, value]) => [name!, value!]));
}

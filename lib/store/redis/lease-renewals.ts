import type { RenewReply, RenewRequest } from '../lock-store.js';
import type { Connection } from './connection.js';
import { namedKeys } from './script-keys.js';
import type { ScriptRunner } from './script-runner.js';
import type { LuaScript } from './scripts.generated.js';
import { storeFailure } from './store-failure.js';

/** How many leases one command renews: large enough for few commands, small enough not to block the server. */
const RENEWALS_PER_COMMAND = 48;
/** The replies of a Cluster to a command with several keys whose slot is moving to another master. */
const MOVING = /\b(TRYAGAIN|ASK)\b/;

/** Renews leases, as many as possible in one command. In a Cluster, these are the leases of one slot. */
export class LeaseRenewals {
  constructor(
    private readonly scripts: ScriptRunner,
    private readonly connection: Connection,
    /** Names the Redis key that holds a lease. */
    private readonly nameOf: (key: string) => string,
    private readonly script: 'renew' | LuaScript = 'renew',
    /** Arguments that follow those of the leases. */
    private readonly args: ReadonlyArray<string | number> = [],
  ) {}

  /** Resolves to the replies in the order of the requests. Never rejects. */
  async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    const replies = new Map<RenewRequest, RenewReply>();
    const commands: Array<Promise<void>> = [];
    for (const group of this.connection.group(requests, this.nameOf)) {
      for (let i = 0; i < group.length; i += RENEWALS_PER_COMMAND) {
        commands.push(this.renewSome(group.slice(i, i + RENEWALS_PER_COMMAND), replies));
      }
    }
    await Promise.all(commands);
    return requests.map((request) => replies.get(request)!);
  }

  private async renewSome(requests: readonly RenewRequest[], replies: Map<RenewRequest, RenewReply>): Promise<void> {
    const states = namedKeys(requests.map(({ key }) => this.nameOf(key)));
    const args = [...requests.flatMap(({ id, lease }) => [id, lease]), ...this.args];
    try {
      const leases = (await this.scripts.run(this.script, states, args)) as unknown[];
      requests.forEach((request, i) => replies.set(request, leaseLeft(leases[i])));
    } catch (error) {
      const { message } = error as Error;
      // While a slot moves, each lease can be renewed alone, but not several in one step.
      if (requests.length > 1 && MOVING.test(message)) {
        await Promise.all(requests.map((request) => this.renewSome([request], replies)));
      } else requests.forEach((request) => replies.set(request, error as Error));
    }
  }
}

/** Reads the reply of `renew` and `extend` for one lease. */
export function leaseLeft(reply: unknown): RenewReply {
  if (reply instanceof Error) return storeFailure(reply);
  return Number(reply) < 0 ? 'not-held' : Number(reply);
}

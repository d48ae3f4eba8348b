import { pause } from '../../common/reading-timer.js';
import { hashSlot } from '../../keys/index.js';
import { isAnswer } from './store-failure.js';
import type { Commands } from './line.js';
import type { Server, Servers } from './servers.js';

/** After how many ms a command is sent again that a node cannot execute yet, or whose connection has ended. */
const AGAIN = 100;
/** How many redirections are followed at once. Nodes may disagree, so later redirections are that far apart. */
const AT_ONCE = 3;
/** What a node says that cannot execute a command yet: its slot moves, or has no master. */
const NOT_YET = /^(TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN)\b/;

/** The nodes of a Cluster to which commands go. */
interface Nodes extends Pick<Servers, 'of' | 'refresh'> {
  readonly isOver: boolean;
  /** The node to which another one redirects. It may be a new one. `from`: the node that has named it. */
  redirectedTo(named: string, from: Server): Server;
  /** A node has redirected a command: the slot has another master. */
  moved(slot: number, node: Server): void;
}

/**
 * Sends each command to the master of its slot, and follows redirections. A command is sent again if its reply was lost, or
 * if the Cluster cannot serve the slot, for at most `commandTimeout`.
 */
export class ClusterRouter implements Commands {
  constructor(
    private readonly nodes: Nodes,
    private readonly commandTimeout: number,
  ) {}

  readonly run: Commands['run'] = (call, sentTo) =>
    this.route(call.keys.names[0], ({ address, commands }) => {
      sentTo?.(address);
      return commands.run(call);
    });

  /** The key is the first argument. */
  readonly send: Commands['send'] = (command, ...args) =>
    this.route(args[0] === undefined ? undefined : String(args[0]), ({ commands }) => commands.send(command, ...args));

  private async route(key: string | undefined, send: (node: Server) => Promise<unknown>): Promise<unknown> {
    const { nodes } = this;
    const slot = key === undefined ? undefined : hashSlot(key);
    const until = performance.now() + this.commandTimeout;
    const isOver = (): boolean => nodes.isOver || performance.now() >= until;
    let redirected: { readonly node: Server; readonly isAsk: boolean } | undefined;
    for (let redirections = 0; ;) {
      const { node = nodes.of(slot), isAsk = false } = redirected ?? {};
      redirected = undefined;
      try {
        if (node === undefined) throw new Error('CLUSTERDOWN no node is known to serve the slot');
        // If the connection breaks, this reply is lost together with the next one.
        if (isAsk) node.commands.send('ASKING').catch(() => undefined);
        return await send(node);
      } catch (error) {
        const why = error as Error;
        const redirection = isAnswer(why) ? redirectionIn(why) : undefined;
        if (isOver() || (isAnswer(why) && redirection === undefined && !NOT_YET.test(why.message))) throw why;
        if (redirection !== undefined) {
          redirected = { node: nodes.redirectedTo(redirection.to, node!), isAsk: redirection.isAsk };
          if (!redirection.isAsk) nodes.moved(redirection.slot, redirected.node);
          if (++redirections <= AT_ONCE) continue;
        } else if (node === undefined) await nodes.refresh();
        const isFound = node === undefined && nodes.of(slot) !== undefined;
        if (!isFound) await pause(AGAIN);
        if (isOver()) throw why;
      }
    }
  }
}

/** The redirection in a refusal, such as `MOVED 42 10.0.0.1:6379`. */
function redirectionIn({ message }: Error): { isAsk: boolean; slot: number; to: string } | undefined {
  const [, word, slot, to] = /^(MOVED|ASK) (\d+) (.*:\d+)$/.exec(message) ?? [];
  return to === undefined ? undefined : { isAsk: word === 'ASK', slot: Number(slot), to };
}

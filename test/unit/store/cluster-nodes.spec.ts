import { describe, expect, it } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { hashSlot } from '../../../lib/keys/index.js';
import { ClusterNodes } from '../../../lib/store/redis/cluster-nodes.js';

const KEY = 'lock:state:{a}';
const SLOT = hashSlot(KEY);
const [MASTER, REPLICA, OTHER, ANOTHER] = ['10.0.0.1:6379', '10.0.0.2:6379', '10.0.0.3:6379', '10.0.0.4:6379'] as const;

/** Which master each node names for the key; left out: it does not answer. */
type Answers = Partial<Record<string, string>>;

/** A Cluster of three masters, of which the first has a replica. `failing` nodes refuse each command. */
function clusterOf(answers: Answers, failing: readonly string[]) {
  const node = (address: string) => {
    const [host, port] = address.split(':');
    const answer = async (): Promise<string> => {
      if (failing.includes(address)) throw new Error('Connection is closed.');
      return answers[address] ?? new Promise<never>(() => undefined);
    };
    return {
      status: 'ready',
      options: { host, port: Number(port) },
      async call() {
        const named = await answer();
        if (named !== address) throw new Error(`MOVED ${SLOT} ${named}`);
      },
      async cluster() {
        return [[0, 16_383, (await answer()).split(':')]];
      },
    };
  };
  const slots: string[][] = [];
  slots[SLOT] = [MASTER, REPLICA];
  const nodes = { master: [MASTER, OTHER, ANOTHER].map(node), slave: [node(REPLICA)] };
  const cluster = {
    ...{ slots, options: {} },
    nodes: (role: 'master' | 'slave') => nodes[role],
    refreshSlotsCache: (done: () => void) => done(),
  };
  const ignore = (): void => undefined;
  return new ClusterNodes(cluster as unknown as Cluster, ignore, ignore);
}

describe('the confirmation that a silent node is still the master', () => {
  it.each<[isMaster: boolean, how: string, answers: Answers, failing: readonly string[]]>([
    [
      false,
      'if its replica has taken over, and the other masters do not know it yet',
      { [REPLICA]: REPLICA, [OTHER]: MASTER, [ANOTHER]: MASTER },
      [],
    ],
    [false, 'if another master knows of the takeover', { [OTHER]: REPLICA }, []],
    [true, 'if its replica follows it', { [REPLICA]: MASTER }, []],
    [true, 'if half of the other masters name it, and its replica is down', { [OTHER]: MASTER }, [REPLICA]],
    [true, 'if no node answers in time', {}, []],
  ])('is %s %s', async (isMaster, _how, answers, failing) => {
    expect(await clusterOf(answers, failing).confirm(KEY)).toBe(isMaster);
  });
});

// A thread that passes on what it gets, some time later and in order. It is a thread of its own, as one that measures
// would be late at times.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { findFreePort, HOST } from '../../testbed/servers/ports.mjs';
import { serve } from './serve.mjs';

serve({
  async open({ target, delay }) {
    const server = createServer({ noDelay: true }, (client) => {
      const upstream = connect({ ...target, noDelay: true });
      delayed(client, upstream, delay);
      delayed(upstream, client, delay);
    });
    const port = await findFreePort();
    server.listen({ host: HOST, port });
    await once(server, 'listening');
    return port;
  },
});

function delayed(from, to, delay) {
  const queue = [];
  let timer;
  const flush = () => {
    timer = undefined;
    while (queue.length > 0 && queue[0].due <= performance.now()) queue.shift().pass();
    // Timers of Node may be early by a part of a millisecond.
    if (queue.length > 0) timer = setTimeout(flush, Math.max(1, queue[0].due - performance.now()));
  };
  const later = (pass) => {
    queue.push({ due: performance.now() + delay, pass });
    timer ??= setTimeout(flush, delay);
  };
  from.on('data', (chunk) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('close', () => later(() => to.destroySoon()));
  from.on('error', () => undefined);
}

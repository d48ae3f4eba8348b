// A thread that forwards data with a delay and in order. It is a separate thread, because a thread that measures would
// sometimes be late.
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { serve } from '../../lab/testbed/workers/worker-kit.mjs';

serve({
  async open({ target, delay }) {
    const proxy = await RespProxy.start(target, { remembers: false });
    proxy.delay({ request: delay, reply: delay });
    return proxy.port;
  },
});

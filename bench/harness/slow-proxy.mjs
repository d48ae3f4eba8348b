// A thread that passes on what it gets, some time later and in order. It is a thread of its own, as one that measures
// would be late at times.
import { RespProxy } from '../../testbed/proxies/resp-proxy.mjs';
import { serve } from '../../testbed/workers/worker-kit.mjs';

serve({
  async open({ target, delay }) {
    const proxy = await RespProxy.start(target, { remembers: false });
    proxy.delay({ request: delay, reply: delay });
    return proxy.port;
  },
});

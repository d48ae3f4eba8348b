import { detours } from '../../testbed/proxies/detours.mjs';
import { RespProxy } from '../../testbed/proxies/resp-proxy.mjs';

/** A proxy before each server, for clients that reach servers through no other address. */
export async function startLines(servers) {
  const proxies = await Promise.all(servers.map((server) => RespProxy.start(server, { remembers: false })));
  return {
    natMap: detours(servers, proxies),
    addresses: proxies.map(({ host, port }) => ({ host, port })),
    deafenSubscribers(how) {
      for (const proxy of proxies) proxy.goDeaf(({ isSubscriber }) => isSubscriber, how);
    },
    close: () => Promise.all(proxies.map((proxy) => proxy.close())),
  };
}

import { replyError, RespReader } from '../../testbed/proxies/resp-reader.mjs';

export { replyError };

/** Reads a reply of Redis, as ioredis does. Each character of `wire` is one byte. */
export const readReply = (wire: string): unknown =>
  new RespReader('server').push(Buffer.from(wire, 'latin1'))[0]!.value;

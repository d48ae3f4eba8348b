// A process whose lock observers all throw. It reports in which order they learned of a loss, and which errors escaped
// that would end any other process.
import { channel } from 'node:diagnostics_channel';
import { createLockService } from '../../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../dist/esm/module/redis-lock.options.js';
import { structuredLogs } from '../../../dist/esm/metrics/index.js';
import { serve } from './worker-kit.mjs';

const escaped = [];
const warnings = [];
process.on('unhandledRejection', (reason) => escaped.push(String(reason)));
process.on('uncaughtException', (error) => escaped.push(String(error)));
process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message.split('\n')[0]}`));

serve({
  /**
   * @param {{ platform: boolean }} who `platform`: also the observers whose errors Node itself makes uncaught
   * exceptions
   */
  async lose(url, { platform }) {
    const order = [];
    const heard = (who) => {
      order.push(who);
      throw new Error(`thrown by the ${who}`);
    };
    const logger = { debug() {}, log() {}, error() {}, warn: () => heard('logger') };
    const service = createLockService(resolveModuleOptions({ connection: url, shutdownTimeout: 0 }), logger);
    await service.start();
    service.events.subscribe(({ type }) => type === 'lost' && heard('subscriber'));
    service.events.pipe().subscribe(({ type }) => type === 'lost' && order.push('next subscriber'));
    const stop = structuredLogs({ debug() {}, warn: () => heard('structured log') });
    if (platform) channel('nestjs-redis-locks:lost').subscribe(() => heard('channel'));
    const lock = await service.acquire('a', { expire: 300, onLost: () => heard('onLost') });
    const waiting = service.acquire('a', { waitTimeout: 5_000 });
    lock.signal.addEventListener('abort', () => {
      order.push(`signal, held: ${lock.isHeld}`);
      if (platform) throw new Error('thrown by the signal');
    });
    lock.signal.addEventListener('abort', () => order.push('next listener of the signal'));
    const next = await waiting;
    const served = await next.release();
    stop();
    await service.close();
    // Errors escape from a timer, at the latest.
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { order, served, escaped, warnings };
  },
});

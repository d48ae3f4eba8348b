import { startService } from './services.mjs';

const { connection, key } = JSON.parse(process.argv[2]);
const handle = await (await startService(connection)).acquire(key, { waitTimeout: '60s' });
process.on('message', () => process.send({ isHeld: handle.isHeld, isTold: handle.signal.aborted }));
process.on('disconnect', () => process.exit());
process.send('held');

import { PROGRAMS } from '../foreign/programs.mjs';
import { ForeignProcess } from '../harness/foreign-process.mjs';

/**
 * A library of another language, which a program of `foreign/` measures in processes of its own. `kind` is the program's
 * name for the library, `module` the one of its list of dependencies. Its settings are numbers and words.
 *
 * `open` is for tests: it starts a process for one client.
 */
export function foreign({ program, kind, module, ...library }) {
  const { world, versionOf } = PROGRAMS[program];
  return {
    ...library,
    program,
    kind,
    world,
    waits: true,
    version: () => versionOf(module),

    async open({ connection, settings }) {
      const { hostname: host, port } = new URL(connection.url);
      const process = new ForeignProcess(program);
      await process.ready;
      await process.openClient({ slot: 0, host, port, kind, ...settings });
      return {
        async acquire(key) {
          const handle = await process.call('acquire', { key });
          return handle === undefined || handle === null ? undefined : handle;
        },
        release: (handle) => process.call('release', { handle }),
        async close() {
          await process.call('close');
          await process.end();
        },
      };
    },
  };
}

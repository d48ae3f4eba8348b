import { Converter, ReflectionKind } from 'typedoc';
import { ENTRY_POINTS } from '../../scripts/lib/entries.mjs';

/** By the name that TypeDoc gives a module: the name by which users import it. */
const NAMES = new Map(
  Object.entries(ENTRY_POINTS).map(([entry, module]) => [
    folderOf(module),
    join('nestjs-redis-locks', folderOf(entry)),
  ]),
);

/** Calls each entry point of the API reference as users import it. */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, reflection) => {
    if (!reflection.kindOf(ReflectionKind.Module)) return;
    const name = NAMES.get(reflection.name);
    if (name === undefined) throw new Error(`'${reflection.name}' is no entry point of the package`);
    reflection.name = name;
  });
}

function folderOf(module) {
  return module.replace(/\/index$/, '');
}

function join(name, folder) {
  return folder === 'index' ? name : `${name}/${folder}`;
}

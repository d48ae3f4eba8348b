import { Converter, ReflectionKind } from 'typedoc';

/** Calls each entry point of the API reference as users import it. */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_context, reflection) => {
    if (!reflection.kindOf(ReflectionKind.Module)) return;
    reflection.name = reflection.name === 'index' ? 'nestjs-redis-locks' : `nestjs-redis-locks/${reflection.name}`;
  });
}

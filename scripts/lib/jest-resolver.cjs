'use strict';

const { existsSync } = require('node:fs');
const { resolve, sep } = require('node:path');

/** Finds `./x.ts` where our own TypeScript says `./x.js`, as the compiler does; everything else is Jest's business. */
module.exports = (request, options) => {
  const isOurs = !options.basedir.includes(`${sep}node_modules`);
  if (isOurs && /^\.{1,2}\/.*\.js$/.test(request)) {
    const typescript = resolve(options.basedir, request.replace(/\.js$/, '.ts'));
    if (existsSync(typescript)) return typescript;
  }
  return options.defaultResolver(request, options);
};

import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ROOT } from './paths.mjs';
import { StepFailed } from './run.mjs';

const UNSET = `package.json has no "repository", so links in the README of the package would lead nowhere. Add
  "repository": { "type": "git", "url": "git+https://github.com/OWNER/NAME.git" }`;

export const readManifest = () => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/**
 * The address of the repository as a web page; `undefined` while `repository` of package.json is unset.
 * @param {{ repository?: string | { url: string } }} manifest
 */
export function repositoryOf({ repository }) {
  const url = typeof repository === 'string' ? repository : repository?.url;
  if (url === undefined) return undefined;
  const [, address] = /^(?:git\+)?(https:\/\/[^/]+\/[^/]+\/[^/]+?)(?:\.git)?$/.exec(url) ?? [];
  if (address === undefined) throw new StepFailed(`package.json: "${url}" is not the address of a repository.`);
  return address;
}

/**
 * Fails, with the text to write, while the address of the repository is unset.
 * @param {{ repository?: string | { url: string } }} manifest
 */
export function requireRepository(manifest = readManifest()) {
  const address = repositoryOf(manifest);
  if (address === undefined) throw new StepFailed(UNSET);
  return address;
}

/**
 * The part of package.json that goes into the package: the fields that its users need, and the addresses that come from
 * `repository`.
 * @param {Record<string, unknown>} manifest
 */
export function packedManifest({ scripts: _scripts, devDependencies: _dev, private: _private, ...manifest }) {
  const address = repositoryOf(manifest);
  if (address === undefined) return manifest;
  return { ...manifest, homepage: `${address}#readme`, bugs: `${address}/issues` };
}

const CODE_BLOCK = /^(`{3,})[\s\S]*?^\1/gm;
const IN_LINE = /(!?)(\[(?:[^[\]]|\[[^\]]*\]\([^)]*\))*\]\()([^()\s]+)(?=[)\s])/g;
const REFERENCE = /^()(\[[^\]]+\]:\s+)(\S+)/gm;
const ATTRIBUTE = /()(\b(?:src|srcset|href)=")([^"\s]+)/g;
const PICTURE = /\.(?:svg|png|gif|jpe?g|webp|webm|mp4)$/;

/** A page of the repository with links and pictures that work wherever it is read: they lead to the files at `ref`. */
export function withAbsoluteLinks(markdown, { page, address, ref }) {
  const resolve = (target) => {
    if (/^(?:[a-z]+:|#|\/\/)/i.test(target)) return target;
    const [path, anchor] = target.split('#');
    const file = posix.join(posix.dirname(page), path);
    const kind = PICTURE.test(file) ? 'raw' : file.endsWith('/') ? 'tree' : 'blob';
    return `${address}/${kind}/${ref}/${file}${anchor === undefined ? '' : `#${anchor}`}`;
  };
  const replace = (text) => {
    // A link around a picture: the picture stands in the words of the link.
    const inside = (words) => words.replace(IN_LINE, (_, mark, before, target) => mark + before + resolve(target));
    return [IN_LINE, REFERENCE, ATTRIBUTE].reduce(
      (result, pattern) =>
        result.replace(pattern, (_, mark, before, target) => {
          const words = pattern === IN_LINE ? `[${inside(before.slice(1, -2))}](` : before;
          return mark + words + resolve(target);
        }),
      text,
    );
  };
  let result = '';
  let end = 0;
  for (const { 0: code, index } of markdown.matchAll(CODE_BLOCK)) {
    result += replace(markdown.slice(end, index)) + code;
    end = index + code.length;
  }
  return result + replace(markdown.slice(end));
}

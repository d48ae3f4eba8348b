// node --import ./simulation/typescript/register.mjs: TypeScript of this project runs as it is written.
import { register } from 'node:module';
import { MUTATION_VARIABLE, findMutation } from '../../mutations/list.mjs';

const name = process.env[MUTATION_VARIABLE];
register('./hooks.mjs', import.meta.url, { data: { mutation: name ? findMutation(name) : undefined } });

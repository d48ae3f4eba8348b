import { AMONG_MASTERS, OUT_OF_SIGHT, shortRuns } from './short-runs.js';

shortRuns(['single', 317, undefined], ['redlock-5', 352, [...AMONG_MASTERS, ...OUT_OF_SIGHT]]);

import { OUT_OF_SIGHT, shortRuns } from './short-runs.js';

shortRuns(['single', 317, undefined], ['single', 307, OUT_OF_SIGHT]);

import { shortRuns } from './short-runs.js';

shortRuns(['sentinel', 555, undefined], ['cluster', 869, undefined]);

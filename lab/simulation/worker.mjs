// Runs schedules for the process that started it.
import { serve } from '../testbed/workers/worker-kit.mjs';
import { replay, search } from './search.ts';

serve({ search, replay: (seed, path) => replay(seed, path, (text) => console.log(text)) });

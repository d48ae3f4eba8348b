// A thread that bundles the declarations, while the main thread bundles the code: the build of the package uses two cores.
import { workerData } from 'node:worker_threads';
import { bundleDeclarations } from './bundle.mjs';

await bundleDeclarations(workerData.modules, workerData.dist);

import { describeContract } from './describe-contract.js';
import { clusterHarness } from './harnesses.js';

// The clients of a Cluster compute so much that cases beside each other would wait for the processor.
describeContract('a Cluster', clusterHarness, { atOnce: 1 });

import { describeContract } from './describe-contract.js';
import { redisHarness } from './harnesses.js';

describeContract('one Redis', redisHarness);

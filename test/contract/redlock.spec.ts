import { describeContract } from './describe-contract.js';
import { redlockHarness } from './harnesses.js';

describeContract('Redlock over three servers', redlockHarness);

import { callerContext } from '../common/caller-context.js';
import { messageOf } from '../common/describe.js';
import type { LockLogger } from '../common/logger.js';
import type { LockLostError } from '../errors/index.js';
import type { LossListener } from './hold-terms.js';

/** The signal of a hold. Its listeners run in the async context of the code that has read it first. */
export class LossSignal {
  private readonly controller = new AbortController();
  private readonly run = callerContext();

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(loss: LockLostError): void {
    this.run(() => this.controller.abort(loss));
  }
}

/** Calls a listener of the user. It may throw or reject, which the log tells. */
export async function callLossListener(listener: LossListener, loss: LockLostError, logger: LockLogger): Promise<void> {
  try {
    await listener(loss);
  } catch (failure) {
    logger.error(`onLost of '${loss.key}' failed: ${messageOf(failure)}`);
  }
}

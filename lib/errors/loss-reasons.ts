/** Why a lock was lost: each code, and what the messages say. */
export const LOSS_REASONS = Object.freeze({
  'lease-ended': 'its lease ended before it was renewed or released',
  unknown: 'Redis does not know it any more (its key was deleted, or its lease ended)',
  'unknown-at-release': 'Redis did not know it any more when it was released',
  'unknown-at-unit-release': 'Redis did not know it any more when permits were released',
  'unknown-at-handover': 'Redis did not know it any more when it was handed over',
  forced: 'it was released by force',
  shutdown: 'the application has shut down, and its holder had not released it by then',
});

/** The code of a reason for which a lock is lost. */
export type LossReason = keyof typeof LOSS_REASONS;

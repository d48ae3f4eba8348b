/** What some stores cannot do. */
export type StoreFeature =
  | 'fair'
  | 'handover'
  | 'holdAtLeast'
  | 'latchDelete'
  | 'latchExpire'
  | 'latches'
  | 'list'
  | 'owner'
  | 'permitChanges'
  | 'permits'
  | 'replicas';

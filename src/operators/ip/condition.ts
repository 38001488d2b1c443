/** Something about leased addresses that an operator should know, with the evidence. */
export interface Condition {
  readonly type: ConditionType;
  /** The sharing key or the resource that it is about; empty where it is about all of them. */
  readonly subject: string;
  readonly message: string;
}

export type ConditionType =
  | "Refused"
  | "PoolExhausted"
  | "PoolMissing"
  | "MetalLbMissing"
  | "MetalLbSilent"
  | "RangeOverlap"
  | "OutsideRange"
  | "AddressPending"
  | "AddressesDiffer"
  | "SharedAcrossOwners"
  | "CleanUpFailed"
  | "PoolDeleting"
  | "Contested"
  | "Failed"
  | "MetricsUnreadable"
  | "CountsDiffer"
  | "Stale";

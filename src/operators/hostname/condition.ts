/** Something about one host name that its tenant or the operator of the cluster should know. */
export interface Condition {
  /** A word for programs. */
  readonly type: ConditionType;
  /** For people. */
  readonly message: string;
}

/** Each of one sort: who asks may want only what keeps a name from being served. */
export const conditionTypes = [
  // Refused: it is not served, and nothing is made for it.
  "HostnameInvalid",
  "HostnameBlocked",
  "HostnameInUse",
  "OwnerChanged",
  "ProofMissing",
  // Waiting: something else has to come first.
  "ClusterUnknown",
  "ManifestMissing",
  "ServiceMissing",
  "KindMissing",
  "ClassMissing",
  "RouteMissing",
  "RouteFailed",
  "RouteNotAccepted",
  "RouteContested",
  "EndpointsMissing",
  "TransferPending",
  // It is served, with a difference.
  "OptionNotHonoured",
  "TransferGap",
  "OldRouteKept",
  "ProbeFailed",
] as const;

export type ConditionType = (typeof conditionTypes)[number];

export function condition(type: ConditionType, message: string): Condition {
  return { type, message };
}

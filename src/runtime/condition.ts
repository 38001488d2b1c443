/** One fact that an operator should know for as long as it holds, in the shape of Kubernetes' conditions. */
export interface Condition<Type extends string = string> {
  /** In CamelCase; also a label of metrics. Type and subject identify a condition. */
  readonly type: Type;
  /** "True" while it holds, "False" once it is over, "Unknown" while nothing says which. */
  readonly status: "True" | "False" | "Unknown";
  /** Which cause, in CamelCase; the type itself where that has only one. */
  readonly reason: string;
  /** With the evidence; it may change while the condition holds. */
  readonly message: string;
  /** What it is about, where there can be several of a type. */
  readonly subject?: string;
  /** Since when it holds, filled in by the service that keeps it. */
  readonly sinceMs?: number;
}

/** A condition that holds. */
export function condition<Type extends string>(
  type: Type,
  message: string,
  more: Partial<Pick<Condition, "status" | "reason" | "subject">> = {},
): Condition<Type> {
  return { type, status: "True", reason: type, message, ...more };
}

/** Samples of a gauge with the label `type`. */
export function countByType(
  conditions: readonly Condition[],
  labels: Readonly<Record<string, string>> = {},
): (readonly [Readonly<Record<string, string>>, number])[] {
  return Array.from(
    Map.groupBy(conditions, ({ type }) => type),
    ([type, all]) => [{ type, ...labels }, all.length],
  );
}

/** Label selectors as objects carry them. */
export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
}

type Labels = Readonly<Record<string, string>>;

export function selects(selector: LabelSelector, labels: Labels = {}): boolean {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) if (labels[key] !== value) return false;
  return (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels));
}

/** Also the operators Gt and Lt, which only nodes are asked about. */
export function meets({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt":
      return compares(operator, value, values[0]);
    default:
      return false;
  }
}

/** Both sides must be whole numbers; anything else matches nothing. */
function compares(operator: "Gt" | "Lt", value: string | undefined, bound: string | undefined): boolean {
  const whole = /^[+-]?\d+$/;
  if (value === undefined || bound === undefined || !whole.test(value) || !whole.test(bound)) return false;
  return operator === "Gt" ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
}

/** Reads API objects without trusting their shape, so that one odd object harms neither its watch nor the sums of others. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of a list, each read so. */
export function recordsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return listOf(value).map(fieldsOf);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Whether the condition of this type is "True". */
export function conditionHolds(conditions: unknown, type: string): boolean {
  return recordsOf(conditions).some((condition) => condition["type"] === type && condition["status"] === "True");
}

/** How JSON patches name a place in an object (RFC 6901): "/metadata/labels/akash.network~1kept". */
export function pointerTo(...steps: readonly string[]): string {
  return steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The names that it leads through; none for the whole. */
export function stepsOf(pointer: string): string[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

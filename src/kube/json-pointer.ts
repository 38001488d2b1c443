/** How JSON patches name a place in an object (RFC 6901): "/metadata/labels/akash.network~1kept". */

export function pointerTo(...steps: readonly string[]): string {
  return steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The names that it leads through; none for the whole. */
export function stepsOf(pointer: string): string[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

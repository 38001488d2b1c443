/** Assertions that stay on in production: a program in an impossible state must stop before it spends money or deletes a workload. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
  readonly details: Record<string, unknown>;

  constructor(message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.details = details;
  }
}

export function invariant(condition: unknown, message: string, details?: Record<string, unknown>): asserts condition {
  if (!condition) throw new InvariantError(message, details);
}

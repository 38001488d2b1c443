/**
 * Waits for a condition of the real world with a limit; nothing in a test ever sleeps for a fixed time. Only what never
 * comes takes that long: the limit is patience with a machine that is busy with something else.
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`${what}: not seen within ${limitMs} ms${last ? ` (last: ${String(last)})` : ""}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

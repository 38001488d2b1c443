/** The cursor is written behind what was handed over, never ahead; after a power cut the last blocks come again. */
import { ProviderError } from "../../runtime/errors.ts";

export interface Cursor {
  /** The last height that was worked through, or undefined on a chain never followed. */
  load(chainId: string): bigint | undefined;
  save(chainId: string, height: bigint): Promise<void>;
}

export type CursorWriter = ReturnType<typeof createCursorWriter>;

export function createCursorWriter(cursor: Cursor, chainId: string) {
  let moved = 0n;
  let written = 0n;
  let writing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  async function write(): Promise<void> {
    failure = undefined;
    while (written < moved && !failure) {
      const height = moved;
      try {
        await cursor.save(chainId, height);
        written = height;
      } catch (error) {
        failure = { error };
      }
    }
    writing = undefined;
  }

  function check(): void {
    if (failure) throw failure.error;
  }

  /** Another program holds the journal for an instant: nothing was written, and the next move tries again. */
  function isPassing(): boolean {
    return ProviderError.is(failure?.error, "AKP_JOURNAL_BUSY");
  }

  return {
    /** This height was handed over. Throws when an earlier move could not be written. */
    moveTo(height: bigint): void {
      if (!isPassing()) check();
      moved = height;
      if (moved > written) writing ??= write();
    },
    /** Resolves when all that was moved is written; throws when it could not be. */
    async flush(): Promise<void> {
      await writing;
      if (isPassing()) await write();
      check();
    },
  };
}

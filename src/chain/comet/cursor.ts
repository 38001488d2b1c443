/**
 * How far we have followed, kept behind what was handed over and never ahead of it. The newest height stands for all
 * before it: a power cut may set the cursor back by moments, and those blocks are handed over again.
 */
import { ProviderError } from "../../runtime/errors.ts";

/** Where it is kept. */
export interface Cursor {
  /** The last height that was worked through, or undefined on a chain never followed. */
  load(chainId: string): bigint | undefined;
  save(chainId: string, height: bigint): Promise<void>;
}

export interface CursorWriter {
  /** This height was handed over. Throws when an earlier move could not be written. */
  moveTo(height: bigint): void;
  /** Resolves when all that was moved is written; throws when it could not be. */
  flush(): Promise<void>;
}

export function createCursorWriter(cursor: Cursor, chainId: string): CursorWriter {
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
    moveTo(height) {
      if (!isPassing()) check();
      moved = height;
      if (moved > written) writing ??= write();
    },
    async flush() {
      await writing;
      if (isPassing()) await write();
      check();
    },
  };
}

/**
 * Moves the journal's cursor behind what was handed over, never ahead of it. Writes are relaxed and the newest height
 * stands for all before it: a power cut may set the cursor back by moments, and those blocks are handed over again.
 */
import type { Journal } from "../../journal/journal.ts";
import type { Tables } from "../../journal/tables.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";

/** What a consumer wants written together with the cursor: both stand or neither does. */
export type CursorUnit = (tables: Tables) => void;

export interface CursorWriter {
  /** This height was handed over. Throws when an earlier move could not be written. */
  moveTo(height: bigint, unit: CursorUnit | undefined): Promise<void>;
  /** Resolves when all that was moved is written; throws when it could not be. */
  flush(): Promise<void>;
}

export function createCursorWriter(journal: Pick<Journal, "relaxed">, chainId: string): CursorWriter {
  /** Not written yet. */
  const units: CursorUnit[] = [];
  let moved = 0n;
  let written = 0n;
  let writing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  async function write(): Promise<void> {
    failure = undefined;
    while (written < moved && !failure) {
      const [height, together] = [moved, [...units]];
      try {
        await journal.relaxed("cursor", (tables) => {
          for (const unit of together) unit(tables);
          tables.cursor.set(chainId, height);
        });
        units.splice(0, together.length);
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
    async moveTo(height, unit) {
      if (!isPassing()) check();
      if (unit) units.push(unit);
      moved = height;
      if (moved > written) writing ??= write();
      if (units.length < limits.rpcCursorUnits) return;
      await writing;
      check();
    },
    async flush() {
      await writing;
      if (isPassing()) await write();
      check();
    },
  };
}

/**
 * What we last did to each object. A cache lags behind the server, so it may still show what was there before our own
 * write or delete; who believed it would take an old object for the one that is desired, or for one that is there at all.
 */
import { isLaterVersion } from "../object-version.ts";
import type { OwnedFields } from "../owned-fields.ts";

interface LastWrite {
  /** Of the object, as we left it or saw it since; undefined while only the server knows what it has. */
  readonly version: string | undefined;
  /** An object that the server answered in words we do not know: what was desired, and what became of it. */
  readonly odd?: { readonly desired: string; readonly became: string };
}

export interface LastWrites {
  /** From now on until its outcome is noted only the server knows: the answer may be lost, and a delete may take long. */
  begin(path: string): void;
  note(path: string, write: LastWrite): void;
  get(path: string): LastWrite | undefined;
  /** Whether this view of an object (null: none) shows our last write or what came after it. */
  isShownBy(path: string, live: OwnedFields | null): boolean;
}

export function createLastWrites(most: number): LastWrites {
  const writes = new Map<string, LastWrite>();

  function note(path: string, write: LastWrite): void {
    writes.delete(path);
    writes.set(path, write);
    const [oldest] = writes.keys();
    if (writes.size > most && oldest !== undefined) writes.delete(oldest);
  }

  return {
    begin: (path) => note(path, { version: undefined }),
    note,
    get: (path) => writes.get(path),
    isShownBy(path, live) {
      const last = writes.get(path);
      if (!last) return true;
      if (last.version === undefined || live?.resourceVersion === undefined) return false;
      return live.resourceVersion === last.version || isLaterVersion(live.resourceVersion, last.version);
    },
  };
}

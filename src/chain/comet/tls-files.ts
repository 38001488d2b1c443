/** Certificate, key and CA bundle of one node. They are renewed under our feet, so they are looked at again. */
import { readFileSync, statSync } from "node:fs";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";

/** How often certificate files are looked at for a change. */
export const rpcTlsRecheckMs = 10 * second;

export interface TlsPaths {
  readonly certFile?: string;
  readonly keyFile?: string;
  /** Replaces the authorities that the system trusts. */
  readonly caFile?: string;
}

export interface TlsMaterial {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
}

interface TlsFiles {
  /** The same object as long as no file has changed. */
  current(): TlsMaterial;
}

const parts = { cert: "certFile", key: "keyFile", ca: "caFile" } as const;

export function createTlsFiles(node: string, paths: TlsPaths, clock: Clock): TlsFiles {
  let material: TlsMaterial | undefined;
  let seen = "";
  let lookAgainMs = 0;

  function use<T>(path: string, read: (path: string) => T): T {
    try {
      return read(path);
    } catch (thrown) {
      throw new ProviderError("AKP_CHAIN_TLS_FILE_UNREADABLE", { path, node, reason: reasonOf(thrown) });
    }
  }

  /** Changes when any of the files does. */
  function stamp(): string {
    return Object.values(parts)
      .flatMap((part) => paths[part] ?? [])
      .map((path) => use(path, (at) => statSync(at)))
      .map(({ mtimeMs, size, ino }) => `${mtimeMs}/${size}/${ino}`)
      .join(" ");
  }

  function read(): TlsMaterial {
    const entries = Object.entries(parts).flatMap(([name, part]) => {
      const path = paths[part];
      return path === undefined ? [] : [[name, use(path, (at) => readFileSync(at))]];
    });
    return Object.fromEntries(entries) as TlsMaterial;
  }

  return {
    current() {
      const nowMs = clock.monotonicMs();
      if (material && nowMs < lookAgainMs) return material;
      lookAgainMs = nowMs + rpcTlsRecheckMs;
      const found = stamp();
      if (!material || found !== seen) material = read();
      seen = found;
      return material;
    },
  };
}

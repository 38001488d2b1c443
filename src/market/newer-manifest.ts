/** Which of two memories of a lease's manifest is to be believed: the journal's, or the one that the cluster keeps. */
interface Remembered {
  /** The hash of the manifest. */
  readonly version: string;
  readonly receivedAtMs: number;
  readonly withdrawnAtMs?: number | undefined;
}

/**
 * Whether the cluster knows more than the journal, which then is lost or older. `current` is the hash that the chain has,
 * as far as we know: we may be behind a tenant who has just changed it, so it can speak for the journal and not against it.
 */
export function isNewerInCluster(
  recorded: Remembered | undefined,
  row: Remembered | undefined,
  current: Uint8Array | undefined,
): boolean {
  if (!recorded) return false;
  if (!row) return true;
  if (recorded.version !== row.version && current && row.version === Buffer.from(current).toString("hex")) return false;
  return lastChange(recorded) > lastChange(row);
}

function lastChange({ receivedAtMs, withdrawnAtMs = 0 }: Remembered): number {
  return Math.max(receivedAtMs, withdrawnAtMs);
}

/** The body of `/status`, with the fields and the order of the Go provider: empty ones are left out where it leaves them out. */
import type { Address } from "../../market/address.ts";
import type { ClusterSummary, PromisedAmounts, StatusAmounts } from "../../market/cluster-summary.ts";
import { type Clock, formatTime, msToNs } from "../../runtime/clock.ts";
import { memoizeFor } from "../../runtime/memoize.ts";
import { gatewayStatusMs, type ReportedStatus } from "./provider-status.ts";

/** Up to this length, encoding a string costs less than sending it apart from its headers. */
const gatewaySmallChars = 8_192;

export interface Snapshot {
  readonly body: string | Uint8Array;
  /** Of its oldest part, in whole seconds. */
  readonly ageS: number;
}

interface SnapshotDeps {
  readonly provider: Address;
  readonly publicHost: string | undefined;
  readonly status: () => ReportedStatus;
  readonly clock: Clock;
}

export function createStatusSnapshot({ status: statusOf, clock, ...of }: SnapshotDeps): () => Snapshot {
  const startedMs = clock.monotonicMs();
  /** By part, on the wall clock. */
  const staleSince = new Map<string, number>();
  /** What was never read is as old as the process. */
  const ageOf = (ageMs: number | undefined) => ageMs ?? clock.monotonicMs() - startedMs;

  function stalePart({ what, why, ageMs }: ReportedStatus["parts"][number]) {
    if (why === undefined) {
      staleSince.delete(what);
      return [];
    }
    // The time stays the same until the part is fresh again.
    const since = staleSince.get(what) ?? clock.now() - ageOf(ageMs);
    staleSince.set(what, since);
    return [{ what, since: formatTime(since), why }];
  }

  return memoizeFor(gatewayStatusMs, clock, () => {
    const status = statusOf();
    const text = statusBody({ ...of, ...status, stale: status.parts.flatMap(stalePart) });
    const oldestMs = Math.max(...status.parts.map(({ ageMs }) => ageOf(ageMs)));
    // Node sends a string together with its headers, and has to encode it each time.
    const body = text.length <= gatewaySmallChars ? text : Buffer.from(text);
    return { body, ageS: Math.max(0, Math.floor(oldestMs / 1_000)) };
  });
}

interface StatusShown extends Omit<ReportedStatus, "parts">, Pick<SnapshotDeps, "provider" | "publicHost"> {
  /** Parts that could not be read lately, and since when (RFC 3339). */
  readonly stale: readonly { readonly what: string; readonly since: string; readonly why: string }[];
}

/** Written by hand, as numbers may exceed 2⁵³. */
export function statusBody({ provider, publicHost, cluster, orders, deployments, stale, ...of }: StatusShown): string {
  const windowNs = msToNs(of.reclamationWindowMs);
  return objectOf([
    `"cluster":{"leases":${cluster?.leases ?? 0},"inventory":${inventoryText(cluster)}}`,
    `"bidengine":{"orders":${orders ?? 0}}`,
    `"manifest":{"deployments":${deployments ?? 0}}`,
    publicHost && `"cluster_public_hostname":${JSON.stringify(publicHost)}`,
    windowNs > 0n && `"reclamation_window":${windowNs}`,
    `"address":"${provider}"`,
    // Not a field of the Go provider; clients ignore unknown ones.
    stale.length > 0 && `"stale":${JSON.stringify(stale)}`,
  ]);
}

function inventoryText(cluster: ClusterSummary | undefined): string {
  const { active, pending } = byActivity(cluster);
  const available = availableText(cluster);
  const fields = [listOf("active", active.map(promisedText)), listOf("pending", pending.map(promisedText))];
  return objectOf([...fields, `"available":${available}`]);
}

export function byActivity(cluster: ClusterSummary | undefined): Record<"active" | "pending", PromisedAmounts[]> {
  const { active = [], pending = [] } = Object.groupBy(cluster?.reservations() ?? [], ({ isActive }) =>
    isActive ? "active" : "pending",
  );
  return { active: active.map(({ promised }) => promised), pending: pending.map(({ promised }) => promised) };
}

/** There may be a thousand of them, written several times a second, and none of them changes. */
const texts = new WeakMap<PromisedAmounts, string>();

function promisedText(promised: PromisedAmounts): string {
  const known = texts.get(promised);
  if (known !== undefined) return known;
  const volumes = [...promised.storage].sort(([one], [other]) => (one < other ? -1 : 1));
  const storage = objectOf(volumes.map(([name, bytes]) => `${JSON.stringify(name)}:${shown(bytes)}`));
  const text = objectOf([amountsText(promised), volumes.length > 0 && `"storage":${storage}`]);
  texts.set(promised, text);
  return text;
}

function availableText(cluster: ClusterSummary | undefined): string {
  const nodes = Array.from(cluster?.nodes() ?? [], ({ name, allocatable, free }) => {
    const amounts = `"allocatable":{${amountsText(allocatable)}},"available":{${amountsText(free)}}`;
    return `{"name":${JSON.stringify(name)},${amounts}}`;
  });
  const classes = Array.from(
    cluster?.storage() ?? [],
    (each) => `{"class":${JSON.stringify(each.class)},"size":${shown(each.free)}}`,
  );
  return objectOf([listOf("nodes", nodes), listOf("storage", classes)]);
}

function amountsText({ cpuMilli, gpus, memoryBytes, ephemeralBytes }: StatusAmounts): string {
  return `"cpu":${shown(cpuMilli)},"gpu":${shown(gpus)},"memory":${shown(memoryBytes)},"storage_ephemeral":${shown(ephemeralBytes)}`;
}

function objectOf(fields: readonly (string | false | undefined)[]): string {
  return `{${fields.filter(Boolean).join(",")}}`;
}

function listOf(name: string, items: readonly string[]): string | false {
  return items.length > 0 && `"${name}":[${items.join(",")}]`;
}

/** Clients read unsigned 64-bit numbers; the Go provider writes the largest signed one for what is unlimited. */
const most = 2n ** 63n - 1n;

function shown(amount: bigint): bigint {
  if (amount < 0n) return 0n;
  return amount > most ? most : amount;
}

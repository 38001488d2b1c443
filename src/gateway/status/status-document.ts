/** The body of `/status`, in the network's words and order: what is empty is left out where the network leaves it out. */
import type { Address } from "../../market/address.ts";
import { type Clock, formatTime, msToNs } from "../../runtime/clock.ts";
import { memoizeFor } from "../../runtime/memoize.ts";
import {
  type ClusterPart,
  createProviderStatus,
  gatewayStatusMs,
  type Promised,
  type ReportedStatus,
  type StatusAmounts,
  type StatusParts,
} from "./provider-status.ts";

/** Up to here, encoding a text costs less than sending it in two pieces does. */
const gatewaySmallChars = 8_192;

export interface Snapshot {
  readonly body: string | Uint8Array;
  /** Of the oldest part of it, in whole seconds. */
  readonly ageS: number;
}

interface SnapshotDeps {
  readonly provider: Address;
  readonly publicHost: string | undefined;
  readonly parts: StatusParts;
  readonly clock: Clock;
}

/** Made when it is asked for and the last one is too old: a flood of requests costs no more than a few. */
export function createStatusSnapshot({ parts, clock, ...of }: SnapshotDeps): () => Snapshot {
  const statusOf = createProviderStatus(parts);
  const startedMs = clock.monotonicMs();
  /** Since when each part is not fresh, on the wall clock. */
  const staleSince = new Map<string, number>();
  /** What was never known is as old as we are. */
  const ageOf = (ageMs: number | undefined) => ageMs ?? clock.monotonicMs() - startedMs;

  function staleParts(all: ReportedStatus["parts"]): StalePart[] {
    return all.flatMap(({ what, why, ageMs }) => {
      // That moment stays the same until it is fresh again.
      const since = staleSince.get(what) ?? clock.now() - ageOf(ageMs);
      if (why === undefined) staleSince.delete(what);
      else staleSince.set(what, since);
      return why === undefined ? [] : [{ what, since: formatTime(since), why }];
    });
  }

  function make(): Snapshot {
    const status = statusOf();
    const text = statusBody({ ...of, ...status, stale: staleParts(status.parts) });
    const oldestMs = Math.max(...status.parts.map(({ ageMs }) => ageOf(ageMs)));
    // Node sends a text in one piece with its headers, and has to encode it each time.
    const body = text.length <= gatewaySmallChars ? text : Buffer.from(text);
    return { body, ageS: Math.max(0, Math.floor(oldestMs / 1_000)) };
  }

  return memoizeFor(gatewayStatusMs, clock, make);
}

interface StatusShown extends Omit<ReportedStatus, "parts">, Pick<SnapshotDeps, "provider" | "publicHost"> {
  readonly stale: readonly StalePart[];
}

interface StalePart {
  readonly what: string;
  /** When it was last known to be so; RFC 3339. */
  readonly since: string;
  readonly why: string;
}

/** Numbers of any size are written digit by digit. */
export function statusBody({ provider, publicHost, cluster, orders, deployments, stale, ...of }: StatusShown): string {
  const windowNs = msToNs(of.reclamationWindowMs);
  return objectOf([
    `"cluster":{"leases":${cluster?.leases ?? 0},"inventory":${inventoryText(cluster)}}`,
    `"bidengine":{"orders":${orders ?? 0}}`,
    `"manifest":{"deployments":${deployments ?? 0}}`,
    publicHost && `"cluster_public_hostname":${JSON.stringify(publicHost)}`,
    windowNs > 0n && `"reclamation_window":${windowNs}`,
    `"address":"${provider}"`,
    // The network has no such field; clients pass over what they do not know.
    stale.length > 0 && `"stale":${JSON.stringify(stale)}`,
  ]);
}

function inventoryText(cluster: ClusterPart | undefined): string {
  const promised = [...(cluster?.reservations() ?? [])];
  const of = (isActive: boolean) =>
    promised.filter((each) => each.isActive === isActive).map((each) => promisedText(each.promised));
  return objectOf([listOf("active", of(true)), listOf("pending", of(false)), `"available":${availableText(cluster)}`]);
}

/** A thousand of them are written several times a second, and none of them changes. */
const texts = new WeakMap<Promised, string>();

function promisedText(promised: Promised): string {
  const known = texts.get(promised);
  if (known !== undefined) return known;
  const volumes = [...promised.storage].sort(([one], [other]) => (one < other ? -1 : 1));
  const storage = objectOf(volumes.map(([name, bytes]) => `${JSON.stringify(name)}:${shown(bytes)}`));
  const text = objectOf([amountsText(promised), volumes.length > 0 && `"storage":${storage}`]);
  texts.set(promised, text);
  return text;
}

function availableText(cluster: ClusterPart | undefined): string {
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

/** Clients read unsigned numbers of 64 bits, and the network says the largest signed one of what has no end. */
const most = 2n ** 63n - 1n;

function shown(amount: bigint): bigint {
  if (amount < 0n) return 0n;
  return amount > most ? most : amount;
}

/**
 * What `/status` answers, ready to be sent. It is made when somebody asks and that from before is a moment old, so a change
 * shows soon, a flood of questions costs no more than a few, and while nobody asks nothing is done. Nothing is waited for.
 */
import type { Address } from "../../market/address.ts";
import { type Clock, formatTime, msToNs } from "../../runtime/clock.ts";
import { goodFor } from "../../runtime/good-for.ts";
import {
  type Amounts,
  type ClusterPart,
  chainFreshness,
  type Freshness,
  type Part,
  type Promised,
  type StatusParts,
  toldReason,
  unread,
} from "./provider-status.ts";
import { gatewayStatusMs } from "./status-message.ts";

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

export function createStatusSnapshot({ provider, publicHost, parts, clock }: SnapshotDeps): () => Snapshot {
  const reclamationWindowNs = msToNs(parts.reclamationWindowMs);
  const startedMs = clock.monotonicMs();
  const [chain, cluster] = [kept(parts.chain), kept(parts.cluster)];
  const [orders, deployments] = [kept(parts.orders), kept(parts.deployments)];
  /** Since when each part is not fresh, on the wall clock. */
  const staleSince = new Map<string, number>();

  function freshnessOf(): [what: Part, Freshness][] {
    const own: [Part, Freshness][] = [["chain", chainFreshness(chain())]];
    if (!parts.cluster) return own;
    const { inventory = unread, workloads = unread } = cluster() ?? {};
    return [...own, ["inventory", inventory], ["workloads", workloads]];
  }

  function staleParts(all: readonly [Part, Freshness][]): StalePart[] {
    return all.flatMap(([what, { ageMs, trouble }]) => {
      if (trouble === undefined) {
        staleSince.delete(what);
        return [];
      }
      // It was so when the trouble began; that moment stays the same while the trouble lasts.
      const since = staleSince.get(what) ?? clock.now() - ageOf(ageMs);
      staleSince.set(what, since);
      return [{ what, since: formatTime(since), why: toldReason(what, ageMs) }];
    });
  }

  /** What was never known is as old as we are. */
  function ageOf(ageMs: number | undefined): number {
    return ageMs ?? clock.monotonicMs() - startedMs;
  }

  function make(): Snapshot {
    const freshness = freshnessOf();
    const text = statusBody({
      ...{ provider, publicHost, reclamationWindowNs },
      cluster: cluster(),
      orders: orders()?.() ?? 0,
      deployments: deployments()?.() ?? 0,
      stale: staleParts(freshness),
    });
    const oldestMs = Math.max(...freshness.map(([, { ageMs }]) => ageOf(ageMs)));
    // Node sends a text in one piece with its headers, and has to encode it each time.
    const body = text.length <= gatewaySmallChars ? text : Buffer.from(text);
    return { body, ageS: Math.max(0, Math.floor(oldestMs / 1_000)) };
  }

  return goodFor(gatewayStatusMs, clock, make);
}

/** What a promise was kept with, once it is. */
function kept<T>(promise: Promise<T> | undefined): () => T | undefined {
  let value: T | undefined;
  void promise?.then((given) => {
    value = given;
  });
  return () => value;
}

// The body of `/status`, in the network's words and order: what is empty is left out where the network leaves it out.

interface StatusShown {
  readonly provider: Address;
  readonly publicHost: string | undefined;
  /** 0 where none is given. */
  readonly reclamationWindowNs: bigint;
  readonly cluster: ClusterPart | undefined;
  readonly orders: number;
  readonly deployments: number;
  readonly stale: readonly StalePart[];
}

/** A part that is not fresh. */
interface StalePart {
  readonly what: string;
  /** When it was last known to be so; RFC 3339. */
  readonly since: string;
  readonly why: string;
}

/** Whole numbers of any size: they are written digit by digit. */
export function statusBody({ provider, publicHost, reclamationWindowNs, stale, ...shown }: StatusShown): string {
  const { cluster, orders, deployments } = shown;
  const fields = [
    `"cluster":{"leases":${cluster?.leases ?? 0},"inventory":${inventoryText(cluster)}}`,
    `"bidengine":{"orders":${orders}}`,
    `"manifest":{"deployments":${deployments}}`,
  ];
  if (publicHost) fields.push(`"cluster_public_hostname":${JSON.stringify(publicHost)}`);
  if (reclamationWindowNs > 0n) fields.push(`"reclamation_window":${reclamationWindowNs}`);
  fields.push(`"address":"${provider}"`);
  // The network has no such field; clients pass over what they do not know.
  if (stale.length > 0) fields.push(`"stale":${JSON.stringify(stale)}`);
  return `{${fields.join(",")}}`;
}

function inventoryText(cluster: ClusterPart | undefined): string {
  const [active, pending]: [string[], string[]] = [[], []];
  for (const { isActive, promised } of cluster?.reservations() ?? []) {
    (isActive ? active : pending).push(promisedText(promised));
  }
  const fields: string[] = [];
  if (active.length > 0) fields.push(`"active":[${active.join(",")}]`);
  if (pending.length > 0) fields.push(`"pending":[${pending.join(",")}]`);
  fields.push(`"available":${availableText(cluster)}`);
  return `{${fields.join(",")}}`;
}

/** A thousand of them are written several times a second, and none of them changes. */
const texts = new WeakMap<Promised, string>();

function promisedText(promised: Promised): string {
  const known = texts.get(promised);
  if (known !== undefined) return known;
  const volumes = [...promised.storage]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, bytes]) => `${JSON.stringify(name)}:${shown(bytes)}`);
  const storage = volumes.length > 0 ? `,"storage":{${volumes.join(",")}}` : "";
  const text = `{${amountsText(promised)}${storage}}`;
  texts.set(promised, text);
  return text;
}

function availableText(cluster: ClusterPart | undefined): string {
  const nodes: string[] = [];
  for (const { name, allocatable, free } of cluster?.nodes() ?? []) {
    const amounts = `"allocatable":{${amountsText(allocatable)}},"available":{${amountsText(free)}}`;
    nodes.push(`{"name":${JSON.stringify(name)},${amounts}}`);
  }
  const classes: string[] = [];
  for (const each of cluster?.storage() ?? []) {
    classes.push(`{"class":${JSON.stringify(each.class)},"size":${shown(each.free)}}`);
  }
  const fields: string[] = [];
  if (nodes.length > 0) fields.push(`"nodes":[${nodes.join(",")}]`);
  if (classes.length > 0) fields.push(`"storage":[${classes.join(",")}]`);
  return `{${fields.join(",")}}`;
}

function amountsText({ cpuMilli, gpus, memoryBytes, ephemeralBytes }: Amounts): string {
  return `"cpu":${shown(cpuMilli)},"gpu":${shown(gpus)},"memory":${shown(memoryBytes)},"storage_ephemeral":${shown(ephemeralBytes)}`;
}

/** Clients read unsigned numbers of 64 bits, and the network says the largest signed one of what has no end. */
const most = 2n ** 63n - 1n;

function shown(amount: bigint): bigint {
  if (amount < 0n) return 0n;
  return amount > most ? most : amount;
}

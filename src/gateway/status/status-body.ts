/** The body of `/status`, in the network's words and order: what is empty is left out where the network leaves it out. */
import type { Address } from "../../market/address.ts";
import type { Amounts, ClusterPart, Promised } from "./status-parts.ts";

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
export interface StalePart {
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

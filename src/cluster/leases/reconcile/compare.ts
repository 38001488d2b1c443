/**
 * Compares what chain, cluster and journal say, and what we believe of them. Pure: what differs for a moment only is left to
 * whoever looks twice.
 */
import { formatLeaseId, formatOrderId, type LeaseId, orderOf, parseLeaseId } from "../../../market/ids.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { type Drift, drift } from "./drift.ts";
import { type LeaseFacts, leaseChecks, reconcileUnderWayMs } from "./lease-checks.ts";
import type { ListedNamespace, ListedResource, Truths } from "./truths.ts";

export function compare(truths: Truths): Drift[] {
  const known = factsOf(truths);
  return [
    ...clusterDrifts(truths),
    ...[...known.facts.values()].flatMap((facts) => leaseChecks.flatMap((check) => check(facts, truths) ?? [])),
    ...known.strays,
  ];
}

function clusterDrifts({ cluster, believed: { isRestored, caches } }: Truths): Drift[] {
  const restored =
    "the API server has gone back to an earlier state: its etcd was restored, or another cluster answers";
  return [
    ...(isRestored ? [drift("cluster-restored", "cluster", restored)] : []),
    ...(caches ? cacheDrifts("namespaces", cluster.namespaces, caches.namespaces) : []),
    ...(caches ? cacheDrifts("manifests.akash.network", cluster.resources, caches.resources) : []),
  ];
}

/** Leases that somebody knows of although the chain's list of those that run does not have them: the chain is asked. */
export function leasesToAsk(
  truths: Pick<Truths, "provider" | "cluster" | "journal" | "believed"> & {
    readonly chain: Pick<Truths["chain"], "running">;
  },
): LeaseId[] {
  const { chain, cluster, journal, believed, provider } = truths;
  const ids = new Map<string, LeaseId>();
  const note = (id: LeaseId | undefined) => {
    if (!id || id.provider !== provider) return;
    const key = formatLeaseId(id);
    if (!chain.running.has(key)) ids.set(key, id);
  };
  for (const { lease } of cluster.namespaces) note(lease);
  for (const { note: recorded } of cluster.resources) note(recorded?.lease);
  for (const key of [...journal.manifests.keys(), ...journal.deadlines, ...(believed.running ?? [])]) {
    if (!ids.has(key) && !chain.running.has(key)) note(parseLeaseId(key));
  }
  return [...ids.values()];
}

/** By lease what is ours, and what cannot be put to any lease of ours. */
function factsOf(truths: Truths) {
  const { provider, chain, cluster, journal, believed } = truths;
  const strays: Drift[] = [];
  const namespaces = new Map<string, ListedNamespace>();
  const resources = new Map<string, ListedResource>();
  const ids = new Map<string, LeaseId>();

  function place(what: "namespace" | "resource", name: string, lease: LeaseId | undefined): string | undefined {
    const text = what === "namespace" ? `namespace ${name}` : `Manifest resource ${name}`;
    if (!lease) {
      strays.push(drift(`${what}-mislabelled`, name, `${text} has the network's labels and names no lease`));
    } else if (lease.provider !== provider) {
      strays.push(drift(`${what}-foreign`, name, `${text} is of provider ${lease.provider}`));
    } else if (leaseNamespace(lease) !== name) {
      strays.push(
        drift(
          `${what}-mislabelled`,
          name,
          `${text} says that it is of lease ${formatLeaseId(lease)}, whose is called ${leaseNamespace(lease)}`,
        ),
      );
    } else {
      const key = formatLeaseId(lease);
      ids.set(key, lease);
      return key;
    }
    return undefined;
  }

  for (const [key, { id }] of chain.running) ids.set(key, id);
  for (const each of cluster.namespaces) {
    const key = place("namespace", each.name, each.lease);
    if (key !== undefined) namespaces.set(key, each);
  }
  for (const each of cluster.resources) {
    const key = place("resource", each.name, each.note?.lease);
    if (key !== undefined) resources.set(key, each);
  }
  for (const key of [...journal.manifests.keys(), ...journal.deadlines, ...(believed.running ?? [])]) {
    if (!ids.has(key)) ids.set(key, parseLeaseId(key));
  }
  const facts = new Map<string, LeaseFacts>();
  for (const [key, id] of ids) {
    const order = formatOrderId(orderOf(id));
    facts.set(key, {
      key,
      name: leaseNamespace(id),
      chain: chain.running.get(key) ?? (chain.asked.has(key) ? (chain.asked.get(key) ?? "none") : undefined),
      namespace: namespaces.get(key),
      resource: resources.get(key),
      manifest: journal.manifests.get(key),
      order,
      booked: believed.book.get(order),
    });
  }
  return { facts, strays: [...strays, ...reservationsLeft(truths, facts)] };
}

/** Promised to nobody: neither lease nor bid nor anything on its way to the chain, and its time is over. */
function reservationsLeft({ chain, journal, believed }: Truths, facts: ReadonlyMap<string, LeaseFacts>): Drift[] {
  const leased = new Set([...chain.running.values()].map(({ id }) => formatOrderId(orderOf(id))));
  const unasked = new Set([...facts.values()].filter((each) => each.chain === undefined).map(({ order }) => order));
  const isIdle = (order: string) => !leased.has(order) && !unasked.has(order);
  const left: Drift[] = [];
  for (const [order, { expiredForMs, isNeeded }] of believed.book) {
    if (isNeeded || !isIdle(order) || expiredForMs < reconcileUnderWayMs) continue;
    left.push(drift("reservation-left", order, "something is set aside for it, and it has neither bid nor lease"));
  }
  for (const order of journal.reservations) {
    if (believed.book.has(order) || !isIdle(order)) continue;
    left.push(
      drift("reservation-left", order, "the journal has a reservation that is not in the book, and no lease for it"),
    );
  }
  return left;
}

/** One for each that differs: of those that are made and removed all the time, each look finds another. */
function cacheDrifts(
  resource: string,
  listed: readonly { readonly name: string; readonly uid: string }[],
  cached: ReadonlyMap<string, string>,
): Drift[] {
  const there = new Map(listed.map(({ name, uid }) => [name, uid]));
  return [...new Set([...there.keys(), ...cached.keys()])]
    .filter((name) => there.get(name) !== cached.get(name))
    .map((name) => {
      const [has, shows] = [there.get(name) ?? "none", cached.get(name) ?? "none"];
      return drift("cache-differs", `${resource} ${name}`, `the server has ${has}, the cache shows ${shows}`);
    });
}

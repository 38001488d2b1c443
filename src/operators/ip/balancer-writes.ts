/** Writes and deletes the Services of addresses, each by itself: one that cannot be holds up no other. */
import { kinds } from "../../kube/kinds.ts";
import type { Kube, ObjectAt } from "../../kube/kube.ts";
import { leasedIpName } from "../../kube/objects/leased-ip.ts";
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { desiredBalancer, isForPort, type OwnBalancer, placeOf } from "./balancer.ts";
import { readDeclaredPort } from "./leased-port.ts";
import { shown } from "./own-range.ts";
import type { PacedApply, Turn } from "./paced-apply.ts";
import type { PlannedBalancer } from "./plan.ts";
import type { Supply } from "./supply.ts";
import type { IpView } from "./view.ts";

interface BalancerWritesOptions {
  readonly provider: Address;
  readonly manifestNamespace: string;
}

interface BalancerWritesDeps {
  readonly kube: Pick<Kube, "get" | "delete">;
  readonly apply: PacedApply;
  readonly view: IpView;
  readonly log: Log;
}

/** A Service that could not be written or deleted, and the lease whose it is. */
export interface Failure {
  readonly lease: LeaseId;
  readonly error: ProviderError;
}

/** What became of those that were to be written; one that somebody else fights over is in neither. */
export interface Written {
  readonly applied: readonly PlannedBalancer[];
  readonly failures: readonly Failure[];
}

export function createBalancerWrites(options: BalancerWritesOptions, deps: BalancerWritesDeps) {
  const { kube, apply, view, log } = deps;
  /** Names of Services that are being written, and for which key: the cache does not show them yet. */
  const writing = new Map<string, string>();

  async function applyOne(
    { port, name, pin, live }: PlannedBalancer,
    poolOf: Supply["poolFor"],
    turn: Turn,
  ): Promise<boolean> {
    // One that has an address names what it named: another pool would take it away.
    const pool = live && live.addresses.length > 0 ? live.ours.pool || undefined : poolOf(pin);
    const desired = desiredBalancer({ port, name, pin, pool });
    const done = await apply(kinds.service, desired, live?.ours.fields ?? null, turn);
    if (done?.written)
      log.info("leased port written", { service: placeOf(desired.metadata), key: port.sharingKey, pin });
    await shown(view.balancers, done?.object, turn.signal);
    return done !== undefined;
  }

  async function applyUntil(
    wanted: readonly PlannedBalancer[],
    isEnough: (written: Written) => boolean,
    poolOf: Supply["poolFor"],
    turn: Turn,
  ): Promise<Written> {
    const places = wanted.map(({ port, name }) => placeOf({ namespace: port.namespace, name }));
    for (const [at, { port }] of wanted.entries()) writing.set(places[at] ?? "", port.sharingKey);
    const applied: PlannedBalancer[] = [];
    const failures: Failure[] = [];
    for (const each of wanted) {
      try {
        if (await applyOne(each, poolOf, turn)) applied.push(each);
      } catch (thrown) {
        // Another lease's namespace may be gone: its ports hold up no other's.
        failures.push({ lease: each.port.lease, error: ProviderError.from(thrown) });
      }
      if (isEnough({ applied, failures })) break;
    }
    for (const place of places) writing.delete(place);
    turn.signal.throwIfAborted();
    return { applied, failures };
  }

  /** Asked of the server itself: nothing is taken from a tenant because a cache is behind. */
  async function isAskedFor(key: string, { namespace, ours }: OwnBalancer, signal: AbortSignal): Promise<boolean> {
    const { externalPort, service } = ours;
    const protocol = ours.protocol === "UDP" ? "UDP" : "TCP";
    const at = {
      namespace: options.manifestNamespace,
      name: leasedIpName({ sharingKey: key, protocol, externalPort }),
    };
    const live = await kube.get(kinds.providerLeasedIp, at, { signal });
    const port = live && readDeclaredPort(live, options.provider).port;
    if (port?.sharingKey !== key || port.protocol !== protocol || port.externalPort !== externalPort) return false;
    return port.namespace === namespace && port.service === service;
  }

  return {
    /** Whether a Service of that name is on its way for another key. */
    isTaken: (at: ObjectAt, key: string): boolean => (writing.get(placeOf(at)) ?? key) !== key,
    async apply(wanted: readonly PlannedBalancer[], poolOf: Supply["poolFor"], turn: Turn): Promise<Written> {
      return applyUntil(wanted, () => false, poolOf, turn);
    },
    /** Only the first of them that can be. */
    async applyFirst(firsts: readonly PlannedBalancer[], poolOf: Supply["poolFor"], turn: Turn): Promise<Written> {
      return applyUntil(firsts, ({ applied }) => applied.length > 0, poolOf, turn);
    },
    /** What nothing asks for, or what was written anew as one of these. */
    async remove(
      key: string,
      removed: readonly OwnBalancer[],
      applied: readonly PlannedBalancer[],
      signal: AbortSignal,
    ): Promise<Failure[]> {
      const failures: Failure[] = [];
      for (const balancer of removed) {
        const { namespace, name, uid, ours } = balancer;
        // Of two for the same port, one is enough, and keeps the other from the address.
        const isDouble = applied.some(({ port }) => isForPort(balancer, port));
        try {
          if (!isDouble && (await isAskedFor(key, balancer, signal))) continue;
          await kube.delete(kinds.service, { namespace, name }, { ...(uid !== undefined && { uid }), signal });
          log.info("leased port removed", { service: placeOf(balancer), key });
        } catch (thrown) {
          signal.throwIfAborted();
          failures.push({ lease: ours.lease, error: ProviderError.from(thrown) });
        }
      }
      return failures;
    },
    /** Those that MetalLB would give the next address to come free, whosever it is. */
    async dropPending(key: string, pending: readonly OwnBalancer[], signal: AbortSignal): Promise<Failure[]> {
      const failures: Failure[] = [];
      for (const { namespace, name, uid, ours } of pending) {
        const { resourceVersion } = ours.fields;
        // As it was looked at: one that was given an address since is no longer one of them.
        const same = { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) };
        try {
          await kube.delete(kinds.service, { namespace, name }, { ...same, signal });
          log.info("leased port removed until an address is free", { service: placeOf({ namespace, name }), key });
        } catch (thrown) {
          signal.throwIfAborted();
          if (!isChanged(thrown)) failures.push({ lease: ours.lease, error: ProviderError.from(thrown) });
        }
      }
      return failures;
    },
  };
}

/** Then its event wakes whoever looks at it. */
function isChanged(thrown: unknown): boolean {
  return ProviderError.is(thrown, "AKP_KUBE_CONFLICT") || ProviderError.is(thrown, "AKP_KUBE_OTHER_UID");
}

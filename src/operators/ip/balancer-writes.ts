/** Writes and deletes the Services of addresses, each by itself: a failure holds up no other. */
import { kinds } from "../../kube/kinds.ts";
import type { DeleteOptions, ObjectAt } from "../../kube/kube.ts";
import { leasedIpName } from "../../kube/objects/leased-ip.ts";
import type { LeaseId } from "../../market/ids.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { WriteTurn } from "../write-pace.ts";
import { desiredBalancer, isForPort, type OwnBalancer, pathOf, readDeclaredPort } from "./objects.ts";
import { untilShown } from "./own-range.ts";
import type { PlannedBalancer } from "./plan.ts";
import type { Supply } from "./supply.ts";
import type { IpDeps } from "./view.ts";

export interface Failure {
  readonly lease: LeaseId;
  readonly error: ProviderError;
}

/** Those that are contested by another program are in neither. */
export interface Written {
  readonly applied: readonly PlannedBalancer[];
  readonly failures: readonly Failure[];
}

export class BalancerWrites {
  readonly #deps: IpDeps;
  /** Names of Services that are being written, and for which key: the cache does not show them yet. */
  readonly #writing = new Map<string, string>();

  constructor(deps: IpDeps) {
    this.#deps = deps;
  }

  isTaken(at: ObjectAt, key: string): boolean {
    return (this.#writing.get(pathOf(at)) ?? key) !== key;
  }

  /** All of them, or only until one was written. */
  async apply(
    wanted: readonly PlannedBalancer[],
    poolOf: Supply["poolFor"],
    turn: WriteTurn,
    many: "all" | "first" = "all",
  ): Promise<Written> {
    const places = wanted.map(({ port, name }) => pathOf({ namespace: port.namespace, name }));
    for (const [at, { port }] of wanted.entries()) this.#writing.set(places[at] ?? "", port.sharingKey);
    const applied: PlannedBalancer[] = [];
    const failures: Failure[] = [];
    for (const each of wanted) {
      try {
        if (await this.#applyOne(each, poolOf, turn)) applied.push(each);
      } catch (thrown) {
        // Another lease's namespace may be gone: its ports hold up no other's.
        failures.push({ lease: each.port.lease, error: ProviderError.from(thrown) });
      }
      if (many === "first" && applied.length > 0) break;
    }
    for (const place of places) this.#writing.delete(place);
    turn.signal.throwIfAborted();
    return { applied, failures };
  }

  /** False where another program contests it. */
  async #applyOne(
    { port, name, pin, live }: PlannedBalancer,
    poolOf: Supply["poolFor"],
    turn: WriteTurn,
  ): Promise<boolean> {
    const { apply, view, log } = this.#deps;
    // One that has an address keeps its pool: another one would take the address away.
    const pool = live && live.addresses.length > 0 ? live.ours.pool || undefined : poolOf(pin);
    const desired = desiredBalancer(name, port, pin, pool);
    const done = await apply(kinds.service, desired, live?.ours.fields ?? null, turn);
    if (done?.written)
      log.info("leased port written", { service: pathOf(desired.metadata), key: port.sharingKey, pin });
    await untilShown(view.balancers, done?.object, turn.signal);
    return done !== undefined;
  }

  /** What no resource requests, or what was written anew as one of these. */
  remove(
    key: string,
    removed: readonly OwnBalancer[],
    applied: readonly PlannedBalancer[],
    signal: AbortSignal,
  ): Promise<Failure[]> {
    return deleteEach(removed, signal, async (balancer) => {
      // Of two for the same port, one is enough, and keeps the other from the address.
      const isDouble = applied.some(({ port }) => isForPort(balancer, port));
      if (!isDouble && (await this.#isRequested(key, balancer, signal))) return;
      await this.#delete(balancer, { signal });
      this.#deps.log.info("leased port removed", { service: pathOf(balancer), key });
    });
  }

  /** Those to which MetalLB would give the next free address. */
  dropPending(key: string, pending: readonly OwnBalancer[], signal: AbortSignal): Promise<Failure[]> {
    return deleteEach(pending, signal, async (balancer) => {
      // One that was given an address since then stays.
      const { resourceVersion } = balancer.ours.fields;
      try {
        await this.#delete(balancer, { ...(resourceVersion !== undefined && { resourceVersion }), signal });
        this.#deps.log.info("leased port removed until an address is free", { service: pathOf(balancer), key });
      } catch (thrown) {
        // Then its event wakes the key.
        const isChanged =
          ProviderError.is(thrown, "AKP_KUBE_CONFLICT") || ProviderError.is(thrown, "AKP_KUBE_OTHER_UID");
        if (!isChanged) throw thrown;
      }
    });
  }

  async #delete({ namespace, name, uid }: OwnBalancer, options: DeleteOptions): Promise<void> {
    await this.#deps.kube.delete(kinds.service, { namespace, name }, { ...(uid !== undefined && { uid }), ...options });
  }

  /** Read from the server: nothing is taken from a tenant because a cache is behind. */
  async #isRequested(key: string, { namespace, ours }: OwnBalancer, signal: AbortSignal): Promise<boolean> {
    const { manifestNamespace, provider, kube } = this.#deps;
    const { externalPort, service } = ours;
    const protocol = ours.protocol === "UDP" ? "UDP" : "TCP";
    const at = { namespace: manifestNamespace, name: leasedIpName({ sharingKey: key, protocol, externalPort }) };
    const live = await kube.get(kinds.providerLeasedIp, at, { signal });
    const port = live && readDeclaredPort(live, provider).port;
    if (port?.sharingKey !== key || port.protocol !== protocol || port.externalPort !== externalPort) return false;
    return port.namespace === namespace && port.service === service;
  }
}

async function deleteEach(
  balancers: readonly OwnBalancer[],
  signal: AbortSignal,
  remove: (balancer: OwnBalancer) => Promise<void>,
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const balancer of balancers) {
    try {
      await remove(balancer);
    } catch (thrown) {
      signal.throwIfAborted();
      failures.push({ lease: balancer.ours.lease, error: ProviderError.from(thrown) });
    }
  }
  return failures;
}

/**
 * Traefik's time-outs, which belong to a Service rather than to a route: one ServersTransport for each Service that a host
 * name leads to, and the annotation by which the Service names it. The Service is the provider's; the annotation is ours.
 */
import { type Kind, kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { idLabels } from "../../kube/objects/lease-labels.ts";
import type { Clock } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import { serversTransport } from "./backends/kinds.ts";
import { traefikName, transportAnnotation, transportOf } from "./backends/traefik.ts";
import { type Condition, condition } from "./condition.ts";
import { serviceKey } from "./declared-host.ts";
import { type Directive, directiveOf, isMissing } from "./directive.ts";
import { createSettling } from "./settling.ts";
import type { WatchedCluster } from "./watched-cluster.ts";

interface TransportDeps {
  readonly cluster: WatchedCluster;
  readonly kube: Pick<Kube, "apply" | "delete">;
  /** Whether Traefik is in force; where it is not, what was made for it is taken away. */
  readonly isWanted: boolean;
  /** Of the routes that are wanted; one of another kind may still serve by what was made for it. */
  readonly routeKind: Kind;
  readonly retryDelayMs: number;
  readonly leading: () => AbortSignal | undefined;
  readonly ledSinceMs: () => number;
  /** What is told of a Service is another thing than before. */
  readonly onTrouble: (key: string) => void;
  readonly clock: Clock;
}

export function createTransportLoop(deps: TransportDeps) {
  const { cluster, kube, isWanted, routeKind, retryDelayMs, leading } = deps;
  /** By Service, why its time-out could not be written. */
  const troubles = new Map<string, string>();
  /** By Service. */
  const settling = createSettling(deps.clock, deps.ledSinceMs);

  async function look(key: string, stopping: AbortSignal): Promise<Outcome> {
    try {
      const outcome = await lookAt(key, stopping);
      noteTrouble(key, undefined);
      return outcome;
    } catch (thrown) {
      if (!stopping.aborted && leading()) noteTrouble(key, reasonOf(thrown));
      throw thrown;
    }
  }

  function noteTrouble(key: string, trouble: string | undefined): void {
    if (troubles.get(key) === trouble) return;
    if (trouble === undefined) troubles.delete(key);
    else troubles.set(key, trouble);
    deps.onTrouble(key);
  }

  async function lookAt(key: string, stopping: AbortSignal): Promise<Outcome> {
    if (cluster.trouble !== undefined) return recheck(retryDelayMs);
    const lead = leading();
    if (!lead || !cluster.isServed(serversTransport)) return done();
    const signal = AbortSignal.any([stopping, lead]);
    const [namespace = "", service = ""] = key.split("/", 2);
    const directive = isWanted ? firstOf(key) : undefined;
    if (directive) return bring(key, directive, signal);
    if (isWanted && [...cluster.hostsOf(key)].length > 0) return done();
    // The route of a name that moved on serves until the new one does, by the time-out that it had. Ingress-NGINX reads none.
    const isTraefiks = isWanted || routeKind !== kinds.ingress;
    if (isTraefiks && cluster.isLedTo(key)) return recheck(limits.hostnameSettleMs);
    return remove(key, { namespace, service }, signal);
  }

  /** All names of a Service have the same, so any of them will do. */
  function firstOf(key: string): Directive | undefined {
    for (const { says } of cluster.hostsOf(key)) {
      const directive = says && directiveOf(says, cluster.manifest(says.namespace));
      if (directive && !isMissing(directive)) return directive;
    }
    return undefined;
  }

  async function bring(key: string, directive: Directive, signal: AbortSignal): Promise<Outcome> {
    const { namespace, service, lease, longestReadMs } = directive;
    const live = cluster.service(namespace, service);
    if (!live) return done();
    const { kind, object } = transportOf(directive, longestReadMs, idLabels(lease));
    const { name } = object.metadata;
    const known = cluster.transport(namespace, name)?.owned ?? null;
    const { written } = await kube.apply(kind, object, { live: known, force: true, signal });
    if (written && !known) settling.wrote(key);
    const waitMs = settling.leftMs(key);
    if (waitMs > 0) return recheck(waitMs);
    const annotations = { [transportAnnotation]: traefikName(namespace, name) };
    const named = { metadata: { name: service, namespace, annotations } };
    await kube.apply(kinds.service, named, { live: live.owned, force: true, signal });
    return done();
  }

  /** The Service first: one that names what is not there leads nowhere. */
  async function remove(
    key: string,
    { namespace, service }: { readonly namespace: string; readonly service: string },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { name } = transportOf({ namespace, service }, 0, {}).object.metadata;
    const [live, transport] = [cluster.service(namespace, service), cluster.transport(namespace, name)];
    if (live?.transport !== undefined) {
      const unnamed = { metadata: { name: service, namespace } };
      const { written } = await kube.apply(kinds.service, unnamed, { live: live.owned, force: true, signal });
      if (written && transport) settling.wrote(key);
    }
    if (!transport) return done();
    const waitMs = settling.leftMs(key);
    if (waitMs > 0) return recheck(waitMs);
    await kube.delete(serversTransport, transport, { uid: transport.uid, signal });
    return done();
  }

  return {
    look,
    /** For a name that leads to the Service: its time-out is not in force. */
    troubleOf({ namespace, service, options }: Directive): Condition[] {
      const trouble = troubles.get(serviceKey(namespace, service));
      if (trouble === undefined) return [];
      return [
        condition("OptionNotHonoured", `read_timeout ${options.readTimeoutMs}: it cannot be written: ${trouble}`),
      ];
    },
  };
}

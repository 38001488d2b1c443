/** Writes what a host name needs, and takes away what it no longer does. */
import { adoptObject } from "../../kube/adopt-object.ts";
import { isAsDesired } from "../../kube/as-desired.ts";
import { objectText } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { RouteObjects } from "./backends/backend.ts";
import { type Condition, condition } from "./condition.ts";
import { serviceKey } from "./declared-host.ts";
import type { Directive } from "./directive.ts";
import { isRoute, type LiveRoute } from "./live-route.ts";
import { createSettling } from "./settling.ts";
import type { WatchedCluster } from "./watched-cluster.ts";

interface RouteWriterDeps {
  readonly cluster: WatchedCluster;
  readonly kube: Pick<Kube, "get" | "apply" | "patch" | "delete" | "fieldManager">;
  readonly ledSinceMs: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

interface Written {
  /** What the cluster would not have, without which the route works all the same. */
  readonly refused: readonly Condition[];
  /** Which routes had to go for the new one. */
  readonly gone: readonly LiveRoute[];
  /** The route waits for what it is to name. */
  readonly isPutOff: boolean;
  /** Until all that was written is in force. */
  readonly unsettledMs: number;
}

export function createRouteWriter({ cluster, kube, ledSinceMs, clock, log }: RouteWriterDeps) {
  const counts = { written: 0, removed: 0, transfers: 0, gaps: 0, longestGapMs: 0 };
  /** Since when no route leads to a name, which could not be moved otherwise. */
  const gapsSinceMs = new Map<string, number>();
  /** Of names that have one again. */
  const gaps = new Map<string, { readonly gapMs: number; readonly toldUntilMs: number }>();
  /** By host name. */
  const settling = createSettling(clock, ledSinceMs);

  async function write(
    directive: Directive,
    { parts, route, policies }: RouteObjects,
    routes: readonly LiveRoute[],
    signal: AbortSignal,
  ): Promise<Written> {
    const { host } = directive;
    let gone: readonly LiveRoute[] = [];
    for (const part of parts) await bring(host, part, signal);
    // One that serves goes on as it is until it may name what is new.
    if (parts.length > 0 && isToChange(route) && settling.leftMs(host) > 0)
      return { refused: [], gone, isPutOff: true, unsettledMs: settling.leftMs(host) };
    try {
      await bring(host, route, signal);
    } catch (thrown) {
      const before = routes.filter(({ namespace, kind }) => namespace !== directive.namespace && kind === route.kind);
      const { ready = 0 } = cluster.endpoints(serviceKey(directive.namespace, directive.service)) ?? {};
      // As long as nothing answers behind the new route, or another is in its way, the old one is better than none.
      if (ready === 0 || !isInTheWay(thrown, before)) throw thrown;
      // The controller wants no two routes for one name: the old one has to go first, and for a moment there is none.
      gapsSinceMs.set(host, clock.monotonicMs());
      await removeAll(before, signal);
      gone = before;
      await bring(host, route, signal);
    }
    endGap(host);
    const refused: Condition[] = [];
    for (const policy of policies) {
      try {
        await bring(host, policy, signal);
      } catch (thrown) {
        // The route is there, and better than none.
        if (!ProviderError.is(thrown, "AKP_KUBE_REFUSED")) throw thrown;
        const text = `${objectText(policy.kind, policy.object.metadata)} was refused: ${reasonOf(thrown)}`;
        refused.push(condition("OptionNotHonoured", text));
      }
    }
    return { refused, gone, isPutOff: false, unsettledMs: settling.leftMs(host) };
  }

  /** The new route may have come at a later look than the one at which the old one went. */
  function endGap(host: string): void {
    const sinceMs = gapsSinceMs.get(host);
    if (sinceMs === undefined) return;
    gapsSinceMs.delete(host);
    const nowMs = clock.monotonicMs();
    const gapMs = nowMs - sinceMs;
    counts.transfers += 1;
    counts.gaps += 1;
    counts.longestGapMs = Math.max(counts.longestGapMs, gapMs);
    gaps.set(host, { gapMs, toldUntilMs: nowMs + limits.hostnameGapToldMs });
    log.info("moved host name with a gap", { host, gapMs, reason: "controller takes no second route" });
  }

  /** What is to be told of it, and for how long. */
  function gapOf(host: string): { readonly conditions: Condition[]; readonly leftMs?: number } {
    const { gapMs = 0, toldUntilMs = 0 } = gaps.get(host) ?? {};
    const leftMs = toldUntilMs - clock.monotonicMs();
    if (leftMs <= 0) {
      gaps.delete(host);
      return { conditions: [] };
    }
    const text = `no route led to it for ${Math.ceil(gapMs)} ms: the controller takes no second one`;
    return { conditions: [condition("TransferGap", text)], leftMs };
  }

  /** What the network's operator made and is as desired stays untouched, so that no controller reloads for it. */
  async function bring(host: string, { kind, object }: DesiredObject, signal: AbortSignal): Promise<void> {
    const { name, namespace = "" } = object.metadata;
    const live = cluster.route(kind, namespace, name);
    const before = live?.ownedFromBefore;
    if (before && isAsDesired(kind, object, before)) return;
    if (before) await adoptObject(kube, kind, { namespace, name }, { signal });
    const known = before ? {} : { live: live?.owned ?? null };
    const { written } = await kube.apply(kind, object, { ...known, force: true, signal });
    if (!written) return;
    counts.written += 1;
    settling.wrote(host);
  }

  /** There already, and not as desired. */
  function isToChange({ kind, object }: DesiredObject): boolean {
    const { name, namespace = "" } = object.metadata;
    const live = cluster.route(kind, namespace, name);
    return live !== undefined && !isAsDesired(kind, object, live.ownedFromBefore ?? live.owned);
  }

  /** Routes go before what they refer to. The very object that was seen: another may have its name by now. */
  async function removeAll(routes: readonly LiveRoute[], signal: AbortSignal): Promise<void> {
    for (const each of [...routes.filter(isRoute), ...routes.filter((route) => !isRoute(route))]) {
      if (each.isDeleting) continue;
      await kube.delete(each.kind, each, { uid: each.uid, signal });
      counts.removed += 1;
    }
  }

  function forget(host: string): void {
    gapsSinceMs.delete(host);
    gaps.delete(host);
    settling.forget(host);
  }

  return { write, removeAll, gapOf, forget, counts };
}

/** Ingress-NGINX refuses what is already there in another namespace, and names it. */
function isInTheWay(thrown: unknown, routes: readonly LiveRoute[]): boolean {
  if (!ProviderError.is(thrown, "AKP_KUBE_REFUSED")) return false;
  const [, named] = /is already defined in ingress ([^\s,;]+)/.exec(reasonOf(thrown)) ?? [];
  return routes.some(({ namespace, name }) => named === `${namespace}/${name}`);
}

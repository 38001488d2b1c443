/** Writes what a host name needs, and takes away what it no longer does. */
import { adoptObject } from "../../kube/adopt-object.ts";
import { isAsDesired } from "../../kube/as-desired.ts";
import { objectText } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createWritePace } from "../write-pace.ts";
import { digestOf, type RouteObjects } from "./backends/backend.ts";
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
  /** What the cluster would not have, without which the route works all the same, and what keeps us from writing more. */
  readonly conditions: readonly Condition[];
  /** Which routes had to go for the new one. */
  readonly gone: readonly LiveRoute[];
  /** The route waits for what it is to name, or for whoever writes against us. */
  readonly putOffMs?: number;
  /** Until all that was written is in force. */
  readonly unsettledMs: number;
}

export function createRouteWriter({ cluster, kube, ledSinceMs, clock, log }: RouteWriterDeps) {
  const counts = { written: 0, removed: 0, transfers: 0, gaps: 0, longestGapMs: 0 };
  /** Since when no route leads to a name, which could not be moved otherwise. */
  const gapsSinceMs = new Map<string, number>();
  /** Of names that have one again. */
  const gaps = new Map<string, { readonly gapMs: number; readonly toldUntilMs: number }>();
  /** What went for a new route that did not come, until it is back: for whom, and what it was. */
  const removed = new Map<string, { readonly owner: string; readonly objects: readonly DesiredObject[] }>();
  /** Names whose new route was refused with the old one gone too: what the controller said, and until when that counts. */
  const refusals = new Map<string, { readonly thrown: unknown; readonly untilMs: number }>();
  const pace = createWritePace(clock);
  /** By host name. */
  const settling = createSettling(clock, ledSinceMs);

  async function write(
    directive: Directive,
    { parts, route, policies }: RouteObjects,
    routes: readonly LiveRoute[],
    signal: AbortSignal,
  ): Promise<Written> {
    const { host } = directive;
    const wanted = [...parts, route, ...policies];
    // What is wanted later may be another thing, which nobody has written against yet.
    const what = `${host} ${digestOf(JSON.stringify(wanted))}`;
    const pauseMs = pace.pauseMs(what);
    if (pauseMs > 0) {
      const text = `somebody else changes its objects: they were written ${limits.contestedWrites} times within a minute`;
      const conditions = [condition("RouteContested", text)];
      return { conditions, gone: [], putOffMs: pauseMs, unsettledMs: settling.leftMs(host) };
    }
    const writtenBefore = counts.written;
    for (const part of parts) await bring(host, part, signal);
    // One that serves goes on as it is until it may name what is new.
    const unsettledMs = settling.leftMs(host);
    if (parts.length > 0 && isToChange(route) && unsettledMs > 0)
      return { conditions: [], gone: [], putOffMs: unsettledMs, unsettledMs };
    const gone = await bringRoute(directive, route, routes, signal);
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
    if (counts.written > writtenBefore) pace.wrote(what);
    return { conditions: refused, gone, unsettledMs: settling.leftMs(host) };
  }

  /** Returns which routes had to go for it. */
  async function bringRoute(
    { host, namespace, service, lease: { owner } }: Directive,
    route: DesiredObject,
    routes: readonly LiveRoute[],
    signal: AbortSignal,
  ): Promise<readonly LiveRoute[]> {
    const before = routes.filter((each) => each.namespace !== namespace && each.kind === route.kind);
    let gone: readonly LiveRoute[] = [];
    try {
      await bring(host, route, signal);
    } catch (thrown) {
      if (signal.aborted || (await putBack(host, owner, signal))) throw thrown;
      const { ready = 0 } = cluster.endpoints(serviceKey(namespace, service)) ?? {};
      // As long as nothing answers behind the new route, or another is in its way, the old one is better than none.
      if (ready === 0 || !isInTheWay(thrown, before)) throw thrown;
      const { thrown: refused, untilMs = 0 } = refusals.get(host) ?? {};
      if (untilMs > clock.monotonicMs()) throw refused;
      await bringInstead(host, owner, route, before, signal);
      gone = before;
    }
    removed.delete(host);
    refusals.delete(host);
    endGap(host, true);
    return gone;
  }

  /** The controller wants no two routes for one name: the old one has to go first, and for a moment there is none. */
  async function bringInstead(
    host: string,
    owner: string,
    route: DesiredObject,
    before: readonly LiveRoute[],
    signal: AbortSignal,
  ): Promise<void> {
    const objects: DesiredObject[] = [];
    for (const { kind, namespace, name } of before) {
      const live = await kube.get(kind, { namespace, name }, { signal });
      if (live) objects.push({ kind, object: asWritten(live) });
    }
    gapsSinceMs.set(host, clock.monotonicMs());
    removed.set(host, { owner, objects });
    try {
      await removeAll(before, signal);
      await bring(host, route, signal);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      // What it says of the route itself, it says the next time too; a connection that broke is another matter.
      if (ProviderError.is(thrown, "AKP_KUBE_REFUSED"))
        refusals.set(host, { thrown, untilMs: clock.monotonicMs() + limits.hostnameForceAgainMs });
      await putBack(host, owner, signal);
      throw thrown;
    }
  }

  /** Whether there was anything to put back; what cannot be now is tried at the next look. */
  async function putBack(host: string, owner: string, signal: AbortSignal): Promise<boolean> {
    const before = removed.get(host);
    if (before?.owner !== owner) return false;
    try {
      for (const { kind, object } of before.objects)
        await kube.apply(kind, object, { live: null, force: true, signal });
      removed.delete(host);
      endGap(host, false);
      log.info("put route of host name back", { host, reason: "the new one was refused" });
    } catch (thrown) {
      log.info("cannot put route of host name back", { host, reason: reasonOf(thrown) });
    }
    return true;
  }

  /** The new route may have come at a later look than the one at which the old one went, or the old one be back. */
  function endGap(host: string, isMoved: boolean): void {
    const sinceMs = gapsSinceMs.get(host);
    if (sinceMs === undefined) return;
    gapsSinceMs.delete(host);
    const nowMs = clock.monotonicMs();
    const gapMs = nowMs - sinceMs;
    if (isMoved) {
      counts.transfers += 1;
      counts.gaps += 1;
    }
    counts.longestGapMs = Math.max(counts.longestGapMs, gapMs);
    gaps.set(host, { gapMs, toldUntilMs: nowMs + limits.hostnameGapToldMs });
    if (isMoved) log.info("moved host name with a gap", { host, gapMs, reason: "controller takes no second route" });
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

  /**
   * Routes go before what they refer to. The very object that was seen: another may have its name by now. One that cannot go
   * keeps no other, but what it refers to stays with it: without that it would lead nowhere. The first that could not go is
   * thrown in the end.
   */
  async function removeAll(routes: readonly LiveRoute[], signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    const kept = new Set<string>();
    for (const each of [...routes.filter(isRoute), ...routes.filter((route) => !isRoute(route))]) {
      if (each.isDeleting || (!isRoute(each) && kept.has(each.namespace))) continue;
      try {
        await kube.delete(each.kind, each, { uid: each.uid, signal });
        counts.removed += 1;
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        failures.push(thrown);
        kept.add(each.namespace);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  function forget(host: string): void {
    gapsSinceMs.delete(host);
    gaps.delete(host);
    removed.delete(host);
    refusals.delete(host);
    settling.forget(host);
  }

  return { write, removeAll, gapOf, forget, counts };
}

/** As somebody would write it who makes it anew. */
function asWritten({
  metadata: { name, namespace = "", labels = {}, annotations = {} },
  ...object
}: KubeObject): KubeObject {
  return { metadata: { name, namespace, labels, annotations }, spec: object["spec"] };
}

/** Ingress-NGINX refuses what is already there in another namespace, and names it. */
function isInTheWay(thrown: unknown, routes: readonly LiveRoute[]): boolean {
  if (!ProviderError.is(thrown, "AKP_KUBE_REFUSED")) return false;
  const [, named] = /is already defined in ingress ([^\s,;]+)/.exec(reasonOf(thrown)) ?? [];
  return routes.some(({ namespace, name }) => named === `${namespace}/${name}`);
}

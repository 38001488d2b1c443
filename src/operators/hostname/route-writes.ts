/** Carries out the plan of a host name: removes what has to go, writes what is not as desired. */

import { objectText } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import { adoptObject } from "../../kube/owned-fields.ts";
import { sleep } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { failureOf, hostCondition } from "./host-states.ts";
import { isRoute, type LiveRoute, putBackAnnotation } from "./live-route.ts";
import type { HostPlan, RouteWrite } from "./plan.ts";
import type { HostnameDeps } from "./view.ts";

export interface WriteResult {
  readonly conditions: Condition[];
  gapMs?: number;
  /** The first thing that failed; the rest was tried all the same. */
  failure?: unknown;
}

type Report = (result: WriteResult) => void;

export class RouteWrites {
  readonly counts = { written: 0, removed: 0, transfers: 0, gaps: 0, longestGapMs: 0 };
  readonly #deps: HostnameDeps;

  constructor(deps: HostnameDeps) {
    this.#deps = deps;
  }

  async apply(host: string, plan: HostPlan, signal: AbortSignal, report: Report): Promise<WriteResult> {
    const result: WriteResult = { conditions: [] };
    await this.#remove(plan.removed, result, signal);
    let gone: readonly LiveRoute[] = [];
    const writtenBefore = this.counts.written;
    try {
      if (plan.write) gone = await this.#write(plan.write, result, signal, report);
    } catch (thrown) {
      signal.throwIfAborted();
      failed(result, thrown);
      return result;
    } finally {
      if (this.counts.written > writtenBefore) this.#deps.pace.wrote(host);
    }
    const replaced = plan.replaced.filter((each) => !gone.includes(each));
    const late: WriteResult = { conditions: [] };
    await this.#remove(replaced, late, signal);
    const isMoved = replaced.some(({ namespace }) => namespace !== plan.write?.directive.namespace);
    if (isMoved && !late.failure) this.counts.transfers += 1;
    return { ...late, ...result, conditions: [...result.conditions, ...late.conditions] };
  }

  /** Deletes routes before their parts, each by uid. Parts of a route that could not be deleted stay with it. */
  async #remove(routes: readonly LiveRoute[], result: WriteResult, signal: AbortSignal): Promise<void> {
    const kept = new Set<string>();
    for (const each of [...routes.filter(isRoute), ...routes.filter((route) => !isRoute(route))]) {
      if (each.isDeleting || (!isRoute(each) && kept.has(each.namespace))) continue;
      try {
        await this.#deps.kube.delete(each.kind, each, { uid: each.uid, signal });
        this.counts.removed += 1;
      } catch (thrown) {
        signal.throwIfAborted();
        failed(result, thrown);
        kept.add(each.namespace);
      }
    }
  }

  /** Returns which routes had to go for the new one. */
  async #write(
    write: RouteWrite,
    result: WriteResult,
    signal: AbortSignal,
    report: Report,
  ): Promise<readonly LiveRoute[]> {
    for (const part of write.parts) await this.#applyObject(part, signal);
    const gone = await this.#applyRoute(write, result, signal, report);
    for (const policy of write.policies) {
      try {
        await this.#applyObject(policy, signal);
      } catch (thrown) {
        // The route works without it.
        if (!ProviderError.is(thrown, "AKP_KUBE_REFUSED")) throw thrown;
        const text = `${objectText(policy.kind, policy.object.metadata)} was rejected: ${reasonOf(thrown)}`;
        result.conditions.push(hostCondition("OptionNotHonoured", text));
      }
    }
    return gone;
  }

  async #applyRoute(
    { route, directive, conflicting }: RouteWrite,
    result: WriteResult,
    signal: AbortSignal,
    report: Report,
  ) {
    if (!route) return [];
    try {
      await this.#applyObject(route, signal);
      return [];
    } catch (thrown) {
      if (signal.aborted || !isAlreadyDefined(thrown, conflicting)) throw thrown;
    }
    const { view, clock, log } = this.#deps;
    const { host, namespace } = directive;
    const isCurrent = () => view.host(host)?.target?.namespace === namespace;
    const sinceMs = clock.monotonicMs();
    try {
      await this.#replace(route, conflicting, { signal, isCurrent, report });
      this.counts.transfers += 1;
      this.counts.gaps += 1;
      const reason = "controller takes no second route";
      log.info("moved host name with a gap", { host, gapMs: clock.monotonicMs() - sinceMs, reason });
    } finally {
      result.gapMs = clock.monotonicMs() - sinceMs;
      this.counts.longestGapMs = Math.max(this.counts.longestGapMs, result.gapMs);
    }
    return conflicting;
  }

  /**
   * Deletes the old routes and creates the new one; where that is rejected, creates the old ones again, until one
   * holds.
   */
  async #replace(
    route: DesiredObject,
    old: readonly LiveRoute[],
    during: { signal: AbortSignal; isCurrent: () => boolean; report: Report },
  ): Promise<void> {
    const { kube, retryDelayMs, clock } = this.#deps;
    const { signal } = during;
    const objects: DesiredObject[] = [];
    for (const { kind, namespace, name } of old) {
      const live = await kube.get(kind, { namespace, name }, { signal });
      if (live) objects.push({ kind, object: asCreated(live) });
    }
    for (let remove = old; ; remove = []) {
      try {
        const removed: WriteResult = { conditions: [] };
        await this.#remove(remove, removed, signal);
        if (removed.failure) throw removed.failure;
        await this.#applyObject(route, signal);
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        if (await this.#putBack(objects, thrown, signal)) throw thrown;
        during.report(failed({ conditions: [] }, thrown));
        // It was moved again, or given up: the next reconcile decides.
        if (!during.isCurrent()) throw thrown;
      }
      await sleep(clock, retryDelayMs, signal);
    }
  }

  /** A rejection is noted on the old routes, so that they stay for a while; a lost connection is tried again at once. */
  async #putBack(objects: readonly DesiredObject[], thrown: unknown, signal: AbortSignal): Promise<boolean> {
    const { kube, log } = this.#deps;
    const { message: reason } = failureOf(thrown);
    const note = ProviderError.is(thrown, "AKP_KUBE_REFUSED") ? { [putBackAnnotation]: reason } : {};
    try {
      for (const { kind, object } of objects) {
        const metadata = { ...object.metadata, annotations: { ...object.metadata.annotations, ...note } };
        await kube.apply(kind, { ...object, metadata }, { live: null, force: true, signal });
      }
      log.info("put route of host name back", { reason });
      return true;
    } catch (failure) {
      signal.throwIfAborted();
      log.info("cannot put route of host name back", { reason: reasonOf(failure) });
      return false;
    }
  }

  /** What the network's operator made is adopted before it is changed. */
  async #applyObject({ kind, object }: DesiredObject, signal: AbortSignal): Promise<void> {
    const { view, kube } = this.#deps;
    const { name, namespace = "" } = object.metadata;
    const live = view.route(kind, namespace, name);
    const isFromBefore = live?.ownedFromBefore !== undefined;
    if (isFromBefore) await adoptObject(kube, kind, { namespace, name }, { signal });
    const known = isFromBefore ? {} : { live: live?.owned ?? null };
    const { written } = await kube.apply(kind, object, { ...known, force: true, signal });
    if (written) this.counts.written += 1;
  }
}

function failed(result: WriteResult, thrown: unknown): WriteResult {
  if (!result.failure) result.conditions.push(failureOf(thrown));
  result.failure ??= thrown;
  return result;
}

/** Without what the server adds, and without the note of an earlier rejection. */
function asCreated({
  metadata: { name, namespace = "", labels = {}, annotations = {} },
  ...object
}: KubeObject): KubeObject {
  const { [putBackAnnotation]: _, ...kept } = annotations;
  return { metadata: { name, namespace, labels, annotations: kept }, spec: object["spec"] };
}

/** Ingress-NGINX rejects a host that an Ingress of another namespace has, and names that Ingress. */
function isAlreadyDefined(thrown: unknown, routes: readonly LiveRoute[]): boolean {
  if (!ProviderError.is(thrown, "AKP_KUBE_REFUSED")) return false;
  const [, named] = /is already defined in ingress ([^\s,;]+)/.exec(reasonOf(thrown)) ?? [];
  return routes.some(({ namespace, name }) => named === `${namespace}/${name}`);
}

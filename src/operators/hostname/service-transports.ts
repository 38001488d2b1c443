/** Traefik's time-outs belong to a Service: a ServersTransport for each, and the annotation by which it is named. */
import { type Kind, kinds } from "../../kube/kinds.ts";
import { idLabels } from "../../kube/objects/lease-labels.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import { serversTransport } from "./backends/backend.ts";
import { traefikName, transportAnnotation, transportOf } from "./backends/traefik.ts";
import { type Directive, directiveOf, isDirective } from "./directive.ts";
import { settleMs } from "./plan.ts";
import type { HostnameDeps } from "./view.ts";

interface TransportDeps extends HostnameDeps {
  /** Whether Traefik is in force; where it is not, what was made for it is removed. */
  readonly isWanted: boolean;
  /** Of the routes that are wanted; one of another kind may still serve by what was made for it. */
  readonly routeKind: Kind;
  readonly onFailure: (key: string) => void;
}

export class TransportLoop {
  readonly #deps: TransportDeps;
  readonly #failures = new Map<string, string>();

  constructor(deps: TransportDeps) {
    this.#deps = deps;
  }

  readonly reconcile = async (key: string, stopping: AbortSignal): Promise<Outcome> => {
    try {
      const outcome = await this.#reconcileService(key, stopping);
      this.#recordFailure(key, undefined);
      return outcome;
    } catch (thrown) {
      if (!stopping.aborted && this.#deps.lead.leading) this.#recordFailure(key, reasonOf(thrown));
      throw thrown;
    }
  };

  failureOf(key: string): string | undefined {
    return this.#failures.get(key);
  }

  #recordFailure(key: string, failure: string | undefined): void {
    if (this.#failures.get(key) === failure) return;
    if (failure === undefined) this.#failures.delete(key);
    else this.#failures.set(key, failure);
    this.#deps.onFailure(key);
  }

  async #reconcileService(key: string, stopping: AbortSignal): Promise<Outcome> {
    const { view, isWanted, routeKind, retryDelayMs } = this.#deps;
    if (view.unavailableReason !== undefined) return recheck(retryDelayMs);
    const lead = this.#deps.lead.leading;
    if (!lead || !view.isServed(serversTransport)) return done();
    const signal = AbortSignal.any([stopping, lead]);
    const directive = isWanted ? this.#firstOf(key) : undefined;
    if (directive) return this.#apply(key, directive, signal);
    if (isWanted && [...view.hosts.by("service", key)].length > 0) return done();
    // The route of a name that moved serves with its time-out until the new one does. Ingress-NGINX reads none.
    const isTraefiks = isWanted || routeKind !== kinds.ingress;
    if (isTraefiks && view.isLedTo(key)) return recheck(settleMs);
    return this.#remove(key, signal);
  }

  /** All names of a Service have the same time-out, so any of them will do. */
  #firstOf(key: string): Directive | undefined {
    const { view } = this.#deps;
    const targets = [...view.hosts.by("service", key)].flatMap(({ target }) => target ?? []);
    return targets.map((target) => directiveOf(target, view.manifest(target.namespace))).find(isDirective);
  }

  #unsettledMs(key: string): number {
    return this.#deps.pace.unsettledMs(key, settleMs, this.#deps.lead.sinceMs);
  }

  async #apply(key: string, directive: Directive, signal: AbortSignal): Promise<Outcome> {
    const { view, kube, pace } = this.#deps;
    const { namespace, service: name, lease, longestReadMs } = directive;
    const service = view.services.get({ namespace, name });
    if (!service) return done();
    const { kind, object } = transportOf(directive, longestReadMs, idLabels(lease));
    const transport = object.metadata.name;
    const known = view.route(serversTransport, namespace, transport)?.owned ?? null;
    const { written } = await kube.apply(kind, object, { live: known, force: true, signal });
    if (written && !known) pace.wrote(key);
    const waitMs = this.#unsettledMs(key);
    if (waitMs > 0) return recheck(waitMs);
    const annotations = { [transportAnnotation]: traefikName(namespace, transport) };
    const named = { metadata: { name, namespace, annotations } };
    await kube.apply(kinds.service, named, { live: service.owned, force: true, signal });
    return done();
  }

  /** The annotation first: a Service that names a missing ServersTransport leads nowhere. */
  async #remove(key: string, signal: AbortSignal): Promise<Outcome> {
    const { view, kube, pace } = this.#deps;
    const [namespace = "", name = ""] = key.split("/", 2);
    const made = transportOf({ namespace, service: name }, 0, {}).object.metadata.name;
    const service = view.services.get({ namespace, name });
    const transport = view.route(serversTransport, namespace, made);
    if (service?.transport !== undefined) {
      const unnamed = { metadata: { name, namespace } };
      const { written } = await kube.apply(kinds.service, unnamed, { live: service.owned, force: true, signal });
      if (written && transport) pace.wrote(key);
    }
    if (!transport) return done();
    const waitMs = this.#unsettledMs(key);
    if (waitMs > 0) return recheck(waitMs);
    await kube.delete(serversTransport, transport, { uid: transport.uid, signal });
    return done();
  }
}

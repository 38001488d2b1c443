/**
 * What the cluster has for host names: one cache per kind, with indexes by name. A change wakes the names concerned.
 */

import { conditionHolds, fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { type Kind, kinds, resourceOf } from "../../kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchCache } from "../../kube/kube.ts";
import { firstCacheProblem } from "../../kube/kube.ts";
import { managedSelector } from "../../kube/objects/lease-labels.ts";
import { ownedFields } from "../../kube/owned-fields.ts";
import { hostsOverlap, isHostName, isWildcard, wildcardsOver } from "../../market/host-names.ts";
import type { OperatorDeps } from "../operator-service.ts";
import type { Lead, WritePace } from "../write-pace.ts";
import {
  clientSettingsPolicy,
  middleware,
  proxySettingsPolicy,
  type RouteBackend,
  serversTransport,
} from "./backends/backend.ts";
import { transportAnnotation } from "./backends/traefik.ts";
import { type DeclaredHost, projectHost, projectManifest, serviceKey, type WatchedManifest } from "./directive.ts";
import type { Endpoints } from "./host-states.ts";
import { type LiveRoute, type OwnRoute, type ParentGateway, projectRoute } from "./live-route.ts";

interface ViewDeps {
  readonly kube: Pick<Kube, "watch" | "fieldManager">;
  readonly manifestNamespace: string;
  readonly gateway: ParentGateway;
  /** Of the Ingresses that are made; undefined where none are. */
  readonly ingressClass: string | undefined;
  /** What routes are made of now. Other kinds may be unreadable, and routes are made all the same. */
  readonly inForce: RouteBackend["uses"];
  readonly onHost: (host: string) => void;
  readonly onService: (key: string) => void;
}

type LiveService = ReturnType<typeof projectService>;
type ServiceEndpoints = ReturnType<typeof projectSlice>;

/** Kinds that a cluster need not have. They are watched once it has them, also to remove what was made of them before. */
const optionalKinds: readonly Kind[] = [
  kinds.httpRoute,
  middleware,
  serversTransport,
  clientSettingsPolicy,
  proxySettingsPolicy,
];

/** What the loops of host names and Services share. */
export interface HostnameDeps extends OperatorDeps {
  readonly view: HostnameView;
  readonly pace: WritePace;
  readonly lead: Lead;
  readonly retryDelayMs: number;
}

export class HostnameView {
  readonly #deps: ViewDeps;
  readonly hosts: WatchCache<DeclaredHost, "key" | "lease" | "service">;
  readonly #manifests: WatchCache<WatchedManifest>;
  readonly services: WatchCache<LiveService>;
  readonly #slices: WatchCache<ServiceEndpoints, "service">;
  readonly #classes: WatchCache<true> | undefined;
  readonly #definitions: WatchCache<readonly string[]>;
  readonly #routes = new Map<Kind, WatchCache<LiveRoute, "host" | "service">>();
  readonly #ending = new AbortController();
  /** Providers of the leases seen in our namespace: routes of any other provider in the cluster are not ours. */
  readonly #providers = new Set<string>();
  /** A name was judged while its endpoints or its class were unknown. */
  #isUnknown = false;

  constructor(deps: ViewDeps) {
    this.#deps = deps;
    const { kube, manifestNamespace: namespace, ingressClass } = deps;
    this.hosts = this.#watchHosts();
    this.#manifests = kube.watch<WatchedManifest>({
      ...{ kind: kinds.manifest, namespace },
      project: (object) => this.#noteProvider(projectManifest(object), ({ provider }) => provider),
      // It is named after the namespace of its lease.
      handle: ({ name }) => {
        for (const each of this.hosts.by("lease", name)) this.#wake(each);
      },
    });
    this.services = kube.watch<LiveService>({
      ...{ kind: kinds.service, labelSelector: managedSelector, withManagedFields: true },
      project: (object) => projectService(object, kube.fieldManager),
      handle: ({ namespace = "", name }) => this.#wakeService(serviceKey({ namespace, service: name })),
    });
    this.#slices = kube.watch<ServiceEndpoints, "service">({
      ...{ kind: kinds.endpointSlice, labelSelector: managedSelector },
      project: projectSlice,
      indexes: { service: ({ service }: ServiceEndpoints) => service },
      handle: ({ value: { service } }) => this.#wakeService(service),
    });
    if (ingressClass !== undefined) {
      this.#classes = kube.watch<true>({
        kind: kinds.ingressClass,
        project: () => true,
        handle: ({ name }) => (name === ingressClass ? this.wakeAll() : undefined),
      });
      this.#whenReady(this.#classes);
    }
    // Watching definitions costs no request at rest, and a controller that is installed later is seen at once.
    this.#definitions = kube.watch<readonly string[]>({
      kind: kinds.customResourceDefinition,
      project: servedVersions,
      handle: () => this.#openServed(),
    });
    this.#openRoutes(kinds.ingress);
  }

  #watchHosts() {
    const { kube, manifestNamespace } = this.#deps;
    return kube.watch<DeclaredHost, "key" | "lease" | "service">({
      kind: kinds.providerHost,
      namespace: manifestNamespace,
      project: (object) => this.#noteProvider(projectHost(object), ({ target }) => target?.lease.provider),
      indexes: {
        key: ({ key }: DeclaredHost) => key,
        lease: ({ target }: DeclaredHost) => target?.namespace,
        service: ({ target }: DeclaredHost) => target && serviceKey(target),
      },
      handle: (change) => {
        for (const declared of eachOf(change)) {
          this.#wake(declared);
          // Names that were rejected for it may be free now.
          this.wakeOverlapping(declared.key);
        }
      },
    });
  }

  /** From the first declaration of a provider on, leftovers of its leases are ours to remove. */
  #noteProvider<T>(value: T, providerOf: (value: T) => string | undefined): T {
    const provider = providerOf(value);
    if (provider === undefined || this.#providers.has(provider)) return value;
    this.#providers.add(provider);
    this.wakeRouted();
    return value;
  }

  #openRoutes(kind: Kind): void {
    const { kube, gateway } = this.#deps;
    const cache = kube.watch<LiveRoute, "host" | "service">({
      ...{ kind, labelSelector: managedSelector, withManagedFields: true },
      project: (object) => projectRoute(kind, object, kube.fieldManager, gateway),
      indexes: { host: ({ host }: LiveRoute) => host, service: ({ service }: LiveRoute) => service },
      handle: (change) => {
        for (const route of eachOf(change)) this.#wakeRoute(route);
      },
    });
    this.#routes.set(kind, cache);
    this.#whenReady(cache);
  }

  /** Names that were reconciled without it are reconciled again. */
  #whenReady(cache: WatchCache<unknown>): void {
    cache.synced(this.#ending.signal).then(
      () => this.wakeAll(),
      () => undefined,
    );
  }

  #openServed(): void {
    for (const kind of optionalKinds) {
      const open = this.#routes.get(kind);
      if (this.isServed(kind) && !open) this.#openRoutes(kind);
      if (this.isServed(kind) || !open) continue;
      this.#routes.delete(kind);
      void open.close();
      this.wakeAll();
    }
  }

  wakeAll(): void {
    for (const each of this.hosts.list()) this.#wake(each);
  }

  /** Every name and Service that some object is for, declared or not. */
  wakeRouted(): void {
    for (const cache of this.#routes.values()) for (const route of cache.list()) this.#wakeRoute(route);
  }

  #wakeRoute({ host, service }: LiveRoute): void {
    if (host !== undefined) this.#deps.onHost(host);
    if (service !== undefined) this.#deps.onService(service);
  }

  wakeOverlapping(key: string): void {
    for (const other of this.overlapping(key)) this.#deps.onHost(other.key);
  }

  #wake({ key, target }: DeclaredHost): void {
    this.#deps.onHost(key);
    if (target) this.#deps.onService(serviceKey(target));
  }

  #wakeService(key: string): void {
    for (const { key: host } of this.hosts.by("service", key)) this.#deps.onHost(host);
    this.#deps.onService(key);
  }

  host(key: string): DeclaredHost | undefined {
    const [first, ...others] = this.hosts.by("key", key);
    // An object that is named after the host goes before one whose key is only its own name.
    return others.find(({ target }) => target) ?? first;
  }

  /** The declaration whose object has this name, which is that of its route too. */
  declaredAs(name: string): DeclaredHost | undefined {
    return this.hosts.get({ namespace: this.#deps.manifestNamespace, name });
  }

  /** Valid declarations of other names that match some of the same requests. */
  overlapping(key: string): DeclaredHost[] {
    // The wildcards over a name with thousands of labels would take megabytes.
    if (!isHostName(key)) return [];
    const found = isWildcard(key)
      ? [...this.hosts.list()].filter((each) => each.key !== key && hostsOverlap(each.key, key))
      : wildcardsOver(key).flatMap((each) => this.host(each) ?? []);
    return found.filter(({ target }) => target);
  }

  manifest(namespace: string): WatchedManifest | undefined {
    return this.#manifests.get({ namespace: this.#deps.manifestNamespace, name: namespace });
  }

  /** Undefined while they cannot be seen, and where there are none. */
  endpoints(service: string): Endpoints | undefined {
    if (!isFollowed(this.#slices)) {
      this.#isUnknown = true;
      return undefined;
    }
    const slices = [...this.#slices.by("service", service)];
    const sum = (field: keyof Endpoints) => slices.reduce((total, slice) => total + slice[field], 0);
    return slices.length === 0 ? undefined : { ready: sum("ready"), total: sum("total") };
  }

  /** Whether the cluster has the class of Ingresses that are made; undefined while that cannot be seen. */
  hasClass(): boolean | undefined {
    const { ingressClass } = this.#deps;
    if (!this.#classes || ingressClass === undefined) return true;
    return isFollowed(this.#classes) ? this.#classes.get({ name: ingressClass }) !== undefined : undefined;
  }

  *routes(key: string): Iterable<OwnRoute> {
    for (const cache of this.#routes.values())
      for (const route of cache.by("host", key)) if (this.#isOurs(route)) yield route;
  }

  #isOurs(route: LiveRoute): route is OwnRoute {
    return route.lease !== undefined && this.#providers.has(route.lease.provider);
  }

  route(kind: Kind, namespace: string, name: string): LiveRoute | undefined {
    return this.#routes.get(kind)?.get({ namespace, name });
  }

  isLedTo(service: string): boolean {
    return [...(this.#routes.get(kinds.ingress)?.by("service", service) ?? [])].length > 0;
  }

  readonly isServed = (kind: Kind): boolean =>
    kind === kinds.ingress || (this.#definitions.get({ name: resourceOf(kind) })?.includes(kind.version) ?? false);

  /** Without endpoints and classes there is no health, but routes all the same. */
  get #needed(): readonly WatchCache<unknown>[] {
    return [this.hosts, this.#manifests, this.services, this.#definitions];
  }

  get #decisive(): readonly WatchCache<unknown>[] {
    const { inForce } = this.#deps;
    const used = [...this.#routes].filter(([kind]) => kind === kinds.ingress || inForce.includes(kind));
    return [...this.#needed, ...used.map(([, cache]) => cache)];
  }

  /** Why nothing may be decided by these caches. */
  get unavailableReason(): string | undefined {
    return firstCacheProblem(this.#decisive);
  }

  get ageMs(): number {
    return Math.max(...this.#decisive.map(({ ageMs }) => ageMs));
  }

  /** Wakes all names when endpoints become unknown, or known again: nothing else would. */
  recheckHealth(): void {
    const isSeen = isFollowed(this.#slices) && (!this.#classes || isFollowed(this.#classes));
    if (isSeen !== this.#isUnknown) return;
    this.#isUnknown = !isSeen;
    this.wakeAll();
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#needed, ...this.#routes.values()].map((cache) => cache.synced(signal)));
  }

  async close(): Promise<void> {
    this.#ending.abort();
    const all = [...this.#needed, this.#slices, this.#classes, ...this.#routes.values()];
    await Promise.all(all.map((cache) => cache?.close()));
  }
}

function eachOf<T>({ value, before }: Change<T>): readonly T[] {
  return before === undefined ? [value] : [before, value];
}

/** Its content may be out of date otherwise. */
function isFollowed(cache: WatchCache<unknown>): boolean {
  return cache.ready && cache.error === undefined;
}

function servedVersions(definition: KubeObject): readonly string[] {
  if (!conditionHolds(fieldsOf(definition["status"])["conditions"], "Established")) return [];
  return recordsOf(fieldsOf(definition["spec"])["versions"])
    .filter(({ served }) => served === true)
    .map(({ name }) => String(name));
}

function projectService(object: KubeObject, fieldManager: string) {
  const transport = object.metadata.annotations?.[transportAnnotation];
  const ports = recordsOf(fieldsOf(object["spec"])["ports"]).map(({ port }) => Number(port));
  return { owned: ownedFields(object, fieldManager), ports, transport };
}

function projectSlice({ metadata, ...slice }: KubeObject) {
  const name = metadata.labels?.["kubernetes.io/service-name"] ?? "";
  const endpoints = recordsOf(slice["endpoints"]);
  // An endpoint without the condition is ready.
  const ready = endpoints.filter((each) => fieldsOf(each["conditions"])["ready"] !== false);
  const service = serviceKey({ namespace: metadata.namespace ?? "", service: name });
  return { service, ready: ready.length, total: endpoints.length };
}

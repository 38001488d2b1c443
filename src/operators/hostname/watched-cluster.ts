/**
 * All that the operator sees of the cluster: one cache for each kind, however many host names there are, each with the
 * indexes by which a single name is looked up. Whatever changes wakes the names that it concerns.
 */
import { firstTrouble } from "../../kube/cache-trouble.ts";
import { fieldsOf, recordsOf } from "../../kube/json-fields.ts";
import { type Kind, kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../kube/kube.ts";
import { managedSelector } from "../../kube/objects/lease-labels.ts";
import { type OwnedFields, ownedFields } from "../../kube/owned-fields.ts";
import { isHostName } from "../../market/host-names.ts";
import { wakeBoth } from "../wake-both.ts";
import { clientSettingsPolicy, middleware, proxySettingsPolicy, serversTransport } from "./backends/kinds.ts";
import { serviceAnnotation, transportAnnotation } from "./backends/traefik.ts";
import { type DeclaredHost, projectHost, serviceKey } from "./declared-host.ts";
import { projectManifest, type WatchedManifest } from "./directive.ts";
import { type LiveRoute, type ParentGateway, projectRoute } from "./live-route.ts";
import { createOverlaps } from "./overlaps.ts";
import { watchServedKinds } from "./served-kinds.ts";

interface WatchedClusterDeps {
  readonly kube: Pick<Kube, "watch" | "fieldManager">;
  readonly manifestNamespace: string;
  readonly gateway: ParentGateway;
  /** Of the Ingresses that are made; undefined where none are. */
  readonly ingressClass: string | undefined;
  /** What routes are made of now. Of other kinds there may be something left; who cannot see it makes routes all the same. */
  readonly inForce: readonly Kind[];
  /** A host name is to be looked at. */
  readonly onHost: (host: string) => void;
  /** What concerns all ports of a Service is. */
  readonly onService: (key: string) => void;
}

interface LiveService {
  readonly owned: OwnedFields;
  readonly ports: readonly number[];
  /** The ServersTransport that it names. */
  readonly transport: string | undefined;
}

export interface Endpoints {
  readonly ready: number;
  readonly total: number;
}

/** Kinds that a cluster need not have. They are watched once it does, also to take away what was made of them before. */
const optionalKinds: readonly Kind[] = [kinds.httpRoute, middleware, clientSettingsPolicy, proxySettingsPolicy];

export type WatchedCluster = ReturnType<typeof watchCluster>;

export function watchCluster(deps: WatchedClusterDeps) {
  const { kube, manifestNamespace, gateway, ingressClass, inForce, onHost, onService } = deps;
  const { fieldManager } = kube;
  const overlaps = createOverlaps();
  const managed = { labelSelector: managedSelector, withManagedFields: true };
  const ending = new AbortController();
  const wakeHosts = wakeBoth<DeclaredHost>(({ key }) => key, onDeclared);
  const wakeServices = wakeBoth(serviceOf, onService);
  /**
   * Of the leases that were ever seen in our namespace. Routes of another provider are none of ours, though nothing here
   * declares them: it has a namespace of its own, or we were told a wrong one.
   */
  const providers = new Set<string>();

  const hosts = kube.watch<DeclaredHost, "key" | "lease" | "service">({
    kind: kinds.providerHost,
    namespace: manifestNamespace,
    project(object) {
      const declared = projectHost(object);
      meet(declared.says?.lease.provider);
      return declared;
    },
    indexes: {
      key: ({ key }: DeclaredHost) => key,
      lease: ({ says }: DeclaredHost) => says?.namespace,
      service: serviceOf,
    },
    handle(change) {
      wakeHosts(change);
      wakeServices(change);
    },
  });
  const manifests = kube.watch<WatchedManifest>({
    kind: kinds.manifest,
    namespace: manifestNamespace,
    project(object) {
      const manifest = projectManifest(object);
      meet(manifest.provider);
      return manifest;
    },
    // Its name is that of the lease's namespace.
    handle: ({ name }) => wakeLease(name),
  });
  const services = kube.watch<LiveService>({
    ...{ kind: kinds.service, ...managed },
    project: (object) => projectService(object, fieldManager),
    handle: ({ namespace = "", name }) => wakeService(serviceKey(namespace, name)),
  });
  const slices = kube.watch<Endpoints & { readonly service: string }, "service">({
    kind: kinds.endpointSlice,
    labelSelector: managedSelector,
    project: projectSlice,
    indexes: { service: ({ service }: { readonly service: string }) => service },
    handle: ({ value: { service } }) => wakeService(service),
  });
  const classes =
    ingressClass === undefined
      ? undefined
      : kube.watch({
          kind: kinds.ingressClass,
          project: () => true,
          handle: ({ name }) => (name === ingressClass ? wakeAll() : undefined),
        });
  const served = watchServedKinds(kube, () => openServed());
  const routes = new Map<Kind, WatchCache<LiveRoute, "host" | "service">>();
  let transports: WatchCache<LiveTransport> | undefined;
  openRoutes(kinds.ingress);
  if (classes) whenReady(classes);
  /** Without endpoints and classes there is no health, but routes all the same. */
  const needed: readonly WatchCache<unknown>[] = [hosts, manifests, services, served.cache];

  /** Before anything is judged by what it declares. What is left of it was not ours to take away until now. */
  function meet(provider: string | undefined): void {
    if (provider === undefined || providers.has(provider)) return;
    providers.add(provider);
    for (const host of routedHosts()) onHost(host);
  }

  function isOurs(route: LiveRoute): route is OwnRoute {
    return route.lease !== undefined && providers.has(route.lease.provider);
  }

  function* routedHosts(): Iterable<string> {
    for (const cache of routes.values()) for (const route of cache.list()) if (route.host) yield route.host;
  }

  /** Whether it is declared now, the cache says. */
  function onDeclared(key: string): void {
    onHost(key);
    // One that is no host name gets nothing.
    if (!isHostName(key)) return;
    if (host(key)) overlaps.add(key);
    else overlaps.remove(key);
    // Those that were refused for it may be had now.
    wakeOverlapping(key);
  }

  function wakeOverlapping(key: string): void {
    // With thousands of labels it would take megabytes to find what it overlaps.
    if (!isHostName(key)) return;
    for (const other of overlaps.of(key)) if (host(other)) onHost(other);
  }

  function openRoutes(kind: Kind): void {
    // Somebody may have written another host name into it.
    const wakeNamed = wakeBoth<LiveRoute>(({ host }) => host, onHost);
    const wakeLedTo = wakeBoth<LiveRoute>(({ service }) => service, onService);
    const cache = kube.watch<LiveRoute, "host" | "service">({
      ...{ kind, ...managed },
      project: (object) => projectRoute(kind, object, fieldManager, gateway),
      indexes: { host: ({ host }: LiveRoute) => host, service: ({ service }: LiveRoute) => service },
      handle(change) {
        wakeNamed(change);
        wakeLedTo(change);
      },
    });
    routes.set(kind, cache);
    whenReady(cache);
  }

  function openTransports(): void {
    transports = kube.watch<LiveTransport>({
      ...{ kind: serversTransport, ...managed },
      project: (object) => projectTransport(object, fieldManager),
      handle: ({ value: { service } }) => onService(service),
    });
    whenReady(transports);
  }

  /** What was looked at without it is looked at again. */
  function whenReady(cache: WatchCache<unknown>): void {
    cache.synced(ending.signal).then(wakeAll, () => undefined);
  }

  function openServed(): void {
    for (const kind of optionalKinds) {
      const open = routes.get(kind);
      if (served.has(kind) && !open) openRoutes(kind);
      if (!served.has(kind) && open) {
        routes.delete(kind);
        void open.close();
        wakeAll();
      }
    }
    if (served.has(serversTransport) && !transports) openTransports();
    if (!served.has(serversTransport) && transports) {
      void transports.close();
      transports = undefined;
      wakeAll();
    }
  }

  function wakeAll(): void {
    for (const each of hosts.list()) wake(each);
  }

  function wakeLease(namespace: string): void {
    for (const each of hosts.by("lease", namespace)) wake(each);
  }

  function wake(declared: DeclaredHost): void {
    onHost(declared.key);
    const service = serviceOf(declared);
    if (service !== undefined) onService(service);
  }

  function wakeService(key: string): void {
    for (const { key: host } of hosts.by("service", key)) onHost(host);
    onService(key);
  }

  function host(key: string): DeclaredHost | undefined {
    const [first, ...others] = hosts.by("key", key);
    // The object that has the name of the host goes before any that only has the host's name for its own.
    return others.find(({ says }) => says) ?? first;
  }

  /** Those without which nothing may be judged. */
  function judgedBy(): readonly WatchCache<unknown>[] {
    const used = [...routes].filter(([kind]) => kind === kinds.ingress || inForce.includes(kind));
    const own = transports && inForce.includes(serversTransport) ? [transports] : [];
    return [...needed, ...used.map(([, cache]) => cache), ...own];
  }

  /** By the names that were last woken for it. */
  let isCounted = true;
  /** Some name was looked at meanwhile. */
  let isMissed = false;
  /** What was seen before and is not followed now may be otherwise. */
  function isFollowed(cache: WatchCache<unknown>): boolean {
    return cache.ready && cache.trouble === undefined;
  }

  return {
    host,
    /** The declaration with this name of its object, which is that of its route too. */
    declaredAs: (name: string) => hosts.get({ namespace: manifestNamespace, name }),
    ingressClass,
    /** Whether the cluster has the class of Ingresses that are made; undefined where that is not seen. */
    hasClass(): boolean | undefined {
      if (!classes || ingressClass === undefined) return true;
      return isFollowed(classes) ? classes.get({ name: ingressClass }) !== undefined : undefined;
    },
    /** What was judged by this name is looked at again. */
    wakeOverlapping,
    /** The host names that lead to a Service. */
    hostsOf: (service: string): Iterable<DeclaredHost> => hosts.by("service", service),
    /** Whether an Ingress still leads to a Service, of whichever name. */
    isLedTo: (service: string): boolean => [...(routes.get(kinds.ingress)?.by("service", service) ?? [])].length > 0,
    /** Other declared names that a request for this one could be meant for. */
    *overlapping(key: string): Iterable<DeclaredHost> {
      for (const other of overlaps.of(key)) {
        const found = host(other);
        if (found?.says) yield found;
      }
    },
    manifest: (namespace: string) => manifests.get({ namespace: manifestNamespace, name: namespace }),
    service: (namespace: string, name: string) => services.get({ namespace, name }),
    transport: (namespace: string, name: string) => transports?.get({ namespace, name }),
    /** Undefined where nobody has counted them yet. */
    endpoints(service: string): Endpoints | undefined {
      if (!isFollowed(slices)) {
        isMissed = true;
        return undefined;
      }
      let sum: Endpoints | undefined;
      for (const { ready, total } of slices.by("service", service)) {
        sum = { ready: (sum?.ready ?? 0) + ready, total: (sum?.total ?? 0) + total };
      }
      return sum;
    },
    /** Every object for this name that is ours, of whatever kind. */
    *routes(key: string): Iterable<OwnRoute> {
      for (const cache of routes.values()) {
        for (const route of cache.by("host", key)) if (isOurs(route)) yield route;
      }
    },
    route: (kind: Kind, namespace: string, name: string) => routes.get(kind)?.get({ namespace, name }),
    /** Every name that some object is for. */
    routedHosts,
    transportsOfServices: (): Iterable<LiveTransport> => transports?.list() ?? [],
    /** Whether the cluster knows a kind; those of Kubernetes itself it does. */
    isServed: (kind: Kind): boolean => kind === kinds.ingress || served.has(kind),
    /** Why nothing may be judged by it now. */
    get trouble(): string | undefined {
      return firstTrouble(judgedBy());
    },
    get ageMs(): number {
      return Math.max(...judgedBy().map(({ ageMs }) => ageMs));
    },
    async synced(signal: AbortSignal): Promise<void> {
      await Promise.all([...needed, ...routes.values()].map((cache) => cache.synced(signal)));
    },
    wakeAll,
    /** Has all names looked at whose health can be judged no more, or again. Nothing else would wake them. */
    recount(): void {
      const isNow = isFollowed(slices) && (!classes || isFollowed(classes));
      if (isNow === isCounted && !(isNow && isMissed)) return;
      isCounted = isNow;
      isMissed = false;
      wakeAll();
    },
    async close(): Promise<void> {
      ending.abort();
      const judging = [slices, ...(classes ? [classes] : [])];
      const all = [...needed, ...judging, ...routes.values(), ...(transports ? [transports] : [])];
      await Promise.all(all.map((cache) => cache.close()));
    },
  };
}

function serviceOf({ says }: DeclaredHost): string | undefined {
  return says && serviceKey(says.namespace, says.service);
}

type OwnRoute = LiveRoute & { readonly lease: NonNullable<LiveRoute["lease"]> };

interface LiveTransport {
  /** By which it is found: its namespace, and the Service that it is for. */
  readonly service: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owned: OwnedFields;
}

function projectTransport(object: KubeObject, fieldManager: string): LiveTransport {
  const { name, namespace = "", uid = "", annotations } = object.metadata;
  const service = serviceKey(namespace, annotations?.[serviceAnnotation] ?? "");
  return { service, namespace, name, uid, owned: ownedFields(object, fieldManager) };
}

function projectService(object: KubeObject, fieldManager: string): LiveService {
  const transport = object.metadata.annotations?.[transportAnnotation];
  const ports = recordsOf(fieldsOf(object["spec"])["ports"]).map(({ port }) => Number(port));
  return { owned: ownedFields(object, fieldManager), ports, transport };
}

function projectSlice({ metadata, ...slice }: KubeObject): Endpoints & { readonly service: string } {
  const service = metadata.labels?.["kubernetes.io/service-name"] ?? "";
  const endpoints = recordsOf(slice["endpoints"]);
  // Who does not say is ready.
  const ready = endpoints.filter((each) => fieldsOf(each["conditions"])["ready"] !== false);
  return { service: serviceKey(metadata.namespace ?? "", service), ready: ready.length, total: endpoints.length };
}

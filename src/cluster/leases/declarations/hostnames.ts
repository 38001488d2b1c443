/** Which host name belongs to which lease. */
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { LeaseWorkload } from "../../../kube/objects/lease-workload.ts";
import { providerHost, providerHostName, readProviderHost } from "../../../kube/objects/provider-host.ts";
import { goQuote } from "../../../market/go-json.ts";
import {
  blockedText,
  type HostRules,
  hostsOverlap,
  isReserved,
  isWildcard,
  notAllowed,
  wildcardsOver,
} from "../../../market/host-names.ts";
import type { LeaseId } from "../../../market/ids.ts";
import { staticHost } from "../../../market/lease-namespace.ts";
import { isIngress } from "../../../market/manifest.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { createDeclarations, type DeclarationDeps } from "./declarations.ts";

/** How long a name is kept for whom it was allowed: a manifest reaches the cluster in seconds, or waits for more than us. */
const hostAllowedMs = minute;

export interface HostnameSettings extends HostRules {
  readonly manifestNamespace: string;
  /** Whether the hostname operator serves a name only once its owner has proven it in the DNS. */
  readonly requiresProof?: boolean;
}

interface HostnameDeps extends Pick<DeclarationDeps<never>, "kube" | "provider"> {
  readonly settings: HostnameSettings;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export type Hostnames = ReturnType<typeof createHostnames>;

export function createHostnames({ kube, provider, settings, clock }: HostnameDeps) {
  const declarations = createDeclarations<HostWanted>({
    ...{ kube, provider, read, namespace: settings.manifestNamespace, kind: kinds.providerHost },
    subjectOf: ({ host }) => host,
    objectName: providerHostName,
    build: (lease, wanted) => providerHost({ lease, ...wanted }, settings).object,
    objection: (lease, wanted) =>
      barred(lease, wanted, settings) ??
      (claims.isOthers(wanted.host, lease.owner) ? "held by another owner" : undefined),
    concerns: hostsOverlap,
  });
  const claims = createClaims(declarations, { provider, settings, clock });
  const { open, release, onChange, settle, declare, has, withheldFrom, subjectsOf } = declarations;

  function rejectionOf(host: string, owner: string): string | undefined {
    const blocked = blockedText(host, settings);
    if (blocked !== undefined) return blocked;
    // One that we gave to the owner is of a service of theirs; another of their leases still does not get it.
    const isOwn = declarations.holder(host)?.lease?.owner === owner;
    if (isReserved(host, settings) && !isOwn) return `domain ${JSON.stringify(host)} is blocked by this provider`;
    return claims.isOthers(host, owner) ? inUse(host) : undefined;
  }

  return {
    ...{ open, release, onChange, settle, declare, has, withheldFrom, hostsOf: subjectsOf, allow: claims.allow },
    /** Why an owner may not have one of these, in the network's words; undefined where all are allowed. */
    rejection(given: readonly string[], owner: string): string | undefined {
      const hosts = given.map((host) => host.toLowerCase());
      for (const host of hosts) {
        const reason = rejectionOf(host, owner);
        if (reason !== undefined) return `${notAllowed}: ${reason}`;
      }
      return undefined;
    },
    /**
     * Gives a lease names that another one of its owner has. All of them, or none;
     * of those that a crash cuts short, the rest moves when the request is repeated.
     */
    async transfer(hosts: readonly string[], lease: LeaseId, wanted: readonly HostWanted[], signal: AbortSignal) {
      const moved = hosts.map((host) => {
        const found = wanted.find((each) => each.host === host);
        if (!found) throw new ProviderError("AKP_HOSTNAME_UNUSED", { host: goQuote(host) });
        return found;
      });
      for (const each of moved) {
        const isInUse = claims.isOthers(each.host, lease.owner);
        const reason = barred(lease, each, settings) ?? (isInUse ? inUse(each.host) : undefined);
        if (reason !== undefined) throw new ProviderError("AKP_HOSTNAME_NOT_ALLOWED", { reason });
      }
      await declarations.take(lease, moved, signal);
    },
    get error(): string | undefined {
      return declarations.error;
    },
  };
}

/** Why a lease may not have a name, even if it is free. */
function barred(lease: LeaseId, { host, service }: HostWanted, settings: HostnameSettings): string | undefined {
  const { ingressDomain } = settings;
  if (ingressDomain !== undefined && host === staticHost(lease, service, ingressDomain)) return undefined;
  if (isReserved(host, settings)) return "names below the ingress domain are given by the provider";
  return blockedText(host, settings);
}

/** Which owner may have which names: by what is declared, and what was allowed a moment ago and is not declared yet. */
function createClaims(
  declarations: Pick<ReturnType<typeof createDeclarations>, "holder" | "holders">,
  { provider, settings: { requiresProof }, clock }: Omit<HostnameDeps, "kube">,
) {
  const allowed = new Map<string, { readonly owner: string; readonly untilMs: number }>();

  /** The names that two owners may not have beside this one. A proven exact name goes before a wildcard: both may be had. */
  function* overlapping(host: string): Iterable<string> {
    yield host;
    if (!isWildcard(host)) {
      if (!requiresProof) yield* wildcardsOver(host);
      return;
    }
    const overlaps = (name: string) => hostsOverlap(name, host) && (isWildcard(name) || !requiresProof);
    for (const { subject } of declarations.holders()) if (overlaps(subject)) yield subject;
    for (const other of allowed.keys()) if (overlaps(other)) yield other;
  }

  return {
    isOthers(host: string, owner: string): boolean {
      for (const name of overlapping(host)) {
        const holder = declarations.holder(name);
        // A lease with another provider, who shares the cluster, is not ours to move.
        if (holder && (holder.lease?.owner !== owner || holder.lease.provider !== provider)) return true;
        const claim = allowed.get(name);
        if (claim && claim.owner !== owner && claim.untilMs > clock.monotonicMs()) return true;
      }
      return false;
    },
    /**
     * No other owner is allowed these for a moment, so that one of two concurrent requests is rejected. Only for names that
     * passed all checks and are about to be declared: a claim keeps them from all others.
     */
    allow(given: readonly string[], owner: string): void {
      const nowMs = clock.monotonicMs();
      for (const [host, { untilMs }] of allowed) if (untilMs <= nowMs) allowed.delete(host);
      for (const host of given) allowed.set(host.toLowerCase(), { owner, untilMs: nowMs + hostAllowedMs });
    },
  };
}

function read(object: KubeObject): { readonly lease: LeaseId; readonly subject: string } | undefined {
  const found = readProviderHost(object);
  return found && { lease: found.lease, subject: found.host };
}

function inUse(host: string): string {
  return `host ${JSON.stringify(host)} in use`;
}

// Which host names a workload is to be reached by, and what each leads to.

export interface HostWanted {
  /** In lower case; "*.example.com" is a wildcard. */
  readonly host: string;
  readonly service: string;
  readonly externalPort: number;
}

export interface StaticHosts {
  /** Below which every service that is exposed over HTTP gets a name of its own; undefined where none does. */
  readonly staticHostDomain: string | undefined;
}

/** Each name once; of one that is given twice, the first. */
export function hostsWanted(
  { lease, group }: Pick<LeaseWorkload, "lease" | "group">,
  { staticHostDomain }: StaticHosts,
): HostWanted[] {
  const wanted = new Map<string, HostWanted>();
  for (const { name: service, expose } of group.services) {
    for (const { hosts, externalPort, port } of expose.filter(isIngress)) {
      const own = staticHostDomain === undefined ? [] : [staticHost(lease, service, staticHostDomain)];
      for (const host of [...own, ...(hosts ?? []).map((each) => each.toLowerCase())]) {
        if (!wanted.has(host)) wanted.set(host, { host, service, externalPort: externalPort || port });
      }
    }
  }
  return [...wanted.values()];
}

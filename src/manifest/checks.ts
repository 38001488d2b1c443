/** Checks of a manifest, in the order of the Go provider. */
import type { Chain } from "../chain/chain.ts";
import { type Deployment, runs } from "../chain/records.ts";
import type { RecordedManifest } from "../kube/objects/read-manifest-resource.ts";
import type { Address } from "../market/address.ts";
import { type DeploymentId, formatDeploymentId, formatLeaseId, type LeaseId } from "../market/ids.ts";
import { hostsIn, ingressHostsIn, isIngress, type ManifestGroup } from "../market/manifest.ts";
import type { ReadManifest } from "../market/manifest-json.ts";
import { mismatchOf } from "../market/manifest-match.ts";
import { faultOfManifest } from "../market/manifest-rules.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";

/** What the manifest service needs of the cluster. */
export interface ClusterSide {
  /** Why this owner may not have one of these host names, in the network's words; undefined where all are allowed. */
  hostRejection(hosts: readonly string[], owner: Address): string | undefined;
  /** Throws while it is unknown who has which host name. */
  checkHostsKnown(): void;
  /** Claims these for the owner until they are declared, for a moment. */
  allowHosts(hosts: readonly string[], owner: Address): void;
  /** What the cluster itself says was sent for a lease; undefined where it provably has nothing. Throws while the cluster is unknown. */
  recorded(lease: LeaseId): Promise<Omit<RecordedManifest, "lease"> | undefined>;
  /** Whether it has a namespace of the lease: then something was sent once, whatever else is lost. Throws while the cluster is unknown. */
  hasNamespace(lease: LeaseId): boolean;
}

/** What it needs of the operator's policies. */
export interface OperatorRules {
  tenant(owner: Address): Ruling;
  image(image: string): Ruling;
  hostname(host: string): Ruling;
}

export interface Ruling {
  readonly yes: boolean;
  readonly reason: string;
  /** The policy only logs. */
  readonly dryRun: boolean;
}

interface CheckDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider">;
  readonly cluster: Pick<ClusterSide, "hostRejection" | "allowHosts">;
  readonly rules: () => OperatorRules;
  /** What is exposed over HTTP must have a host name of the tenant's, since we give it none. */
  readonly requireHost: boolean;
  readonly log: Log;
}

export type Checks = ReturnType<typeof createChecks>;

export type Accepted = Awaited<ReturnType<Checks["accept"]>>;

export function createChecks({ chain, cluster, rules, requireHost, log }: CheckDeps) {
  const { mirror, queries, provider } = chain;

  /** Returns the hash that the chain has, and groups by lease. Throws why it is rejected, or why the chain cannot be queried. */
  async function accept(id: DeploymentId, read: ReadManifest, signal: AbortSignal | undefined) {
    const { manifest, lacks } = read;
    const fault = faultOfManifest(manifest, lacks);
    if (fault !== undefined) throw new ProviderError("AKP_MANIFEST_INVALID", { reason: fault });
    const { deployment, version } = await currentDeployment(id, read, signal);
    const specs = deployment.groups.map(({ spec }) => spec);
    const mismatch = mismatchOf(manifest, specs);
    if (mismatch !== undefined) throw new ProviderError("AKP_MANIFEST_INVALID", { reason: mismatch });
    const leases = await leasesOf(id, signal);
    const groups = new Map<string, ManifestGroup>();
    for (const lease of leases) {
      const name = deployment.groups.find(({ id }) => id.gseq === lease.gseq)?.spec.name;
      const group = manifest.find((group) => group.name === name);
      if (group) groups.set(formatLeaseId(lease), group);
    }
    checkHosts(id, [...groups.values()]);
    checkRules(id, [...groups.values()]);
    if (groups.size === 0) throw new ProviderError("AKP_NO_LEASE", {});
    cluster.allowHosts([...groups.values()].flatMap(ingressHostsIn), id.owner);
    return { version, groups };
  }

  /** The deployment with this very manifest. The mirror may lag behind a tenant who has just changed it: then the chain is queried. */
  async function currentDeployment(id: DeploymentId, read: ReadManifest, signal: AbortSignal | undefined) {
    const mirrored = mirror.deployment(id);
    const known = mirrored && versionOn(mirrored, read);
    if (mirrored && known !== undefined) return { deployment: mirrored, version: known };
    const { value: deployment } = await queries.deployment(id, { atOrAbove: mirror.height, signal });
    if (!deployment) throw new ProviderError("AKP_DEPLOYMENT_UNKNOWN", { deployment: formatDeploymentId(id) });
    const version = versionOn(deployment, read);
    if (version === undefined) throw new ProviderError("AKP_MANIFEST_OTHER_VERSION", {});
    return { deployment, version };
  }

  /** Our active leases. While a group has none the chain is queried: the mirror may lack the newest lease. */
  async function leasesOf(id: DeploymentId, signal?: AbortSignal): Promise<readonly LeaseId[]> {
    const { owner, dseq } = id;
    const mirrored = [...mirror.leases()].filter(({ id }) => id.owner === owner && id.dseq === dseq);
    const running = mirrored.filter(runs);
    const groups = mirror.deployment(id)?.groups.length ?? 1;
    if (running.length >= groups) return running.map(({ id }) => id);
    const { items } = await queries.leases({ owner, dseq, provider }, { atOrAbove: mirror.height, signal });
    // A list takes the number 0 for any, and would name all leases of this owner.
    return items.filter((lease) => runs(lease) && lease.id.dseq === dseq).map(({ id }) => id);
  }

  function checkHosts({ owner }: DeploymentId, groups: readonly ManifestGroup[]): void {
    for (const { name, expose } of groups.flatMap(({ services }) => services)) {
      const nameless = expose.find((one) => isIngress(one) && (one.hosts ?? []).length === 0);
      if (requireHost && nameless) {
        const reason = `service "${name}" exposed on 80:${nameless.proto} must have a hostname`;
        throw new ProviderError("AKP_MANIFEST_REJECTED", { reason });
      }
    }
    const reason = cluster.hostRejection(groups.flatMap(hostsIn), owner);
    if (reason !== undefined) throw new ProviderError("AKP_MANIFEST_HOST_REFUSED", { reason });
  }

  function checkRules(id: DeploymentId, groups: readonly ManifestGroup[]): void {
    const { tenant, image, hostname } = rules();
    const deployment = formatDeploymentId(id);
    const mayPass = ({ yes, reason, dryRun }: Ruling): boolean => {
      if (!yes && dryRun) log.info("policy would reject the manifest", { deployment, reason });
      return yes || dryRun;
    };
    const images = new Set(groups.flatMap(({ services }) => services.map(({ image }) => image)));
    const rulings = [tenant(id.owner), ...[...images].map(image)];
    const rejected = rulings.find((ruling) => !mayPass(ruling));
    if (rejected) throw new ProviderError("AKP_MANIFEST_REJECTED", { reason: rejected.reason });
    const host = groups
      .flatMap(hostsIn)
      .map(hostname)
      .find((ruling) => !mayPass(ruling));
    if (host) throw new ProviderError("AKP_MANIFEST_HOST_REFUSED", { reason: `hostname not allowed: ${host.reason}` });
  }

  return { accept, leasesOf };
}

/** Which of the manifest's hashes the chain has, if any. */
function versionOn({ hash }: Deployment, { version, rawVersion }: ReadManifest): string | undefined {
  const onChain = Buffer.from(hash).toString("hex");
  return onChain === version() || onChain === rawVersion() ? onChain : undefined;
}

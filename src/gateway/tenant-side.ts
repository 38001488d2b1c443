/** What the gateway needs of the other services, so that it need not know them. */
import type { ExecSession } from "../kube/kube.ts";
import type { DeploymentId, LeaseId } from "../market/ids.ts";
import type { ManifestGroup } from "../market/manifest.ts";

/** What runs for a lease, as its tenant may see it. All of it comes from caches. */
export interface TenantLeases {
  /** Throws AKP_CLUSTER_UNKNOWN while what is known of the cluster may not be told. */
  find(lease: LeaseId): TenantLease;
  /** By the chain. Throws as `find` does. */
  runs(lease: LeaseId): boolean;
  /**
   * Gives a lease host names that another one of its owner has, those and no others. `permit` is told every service that is
   * led to by them; what it throws keeps them all where they are.
   */
  moveHosts(hosts: readonly string[], to: LeaseId, permit: Permit, signal: AbortSignal): Promise<void>;
  /** The same with endpoints of leased addresses. */
  moveEndpoints(endpoints: readonly string[], to: LeaseId, permit: Permit, signal: AbortSignal): Promise<void>;
  /** The running leases of a deployment. */
  leasesOf(owner: string, dseq: bigint): readonly LeaseId[];
  /** The running lease of an owner's group. */
  leaseOf(owner: string, dseq: bigint, gseq: number): LeaseId | undefined;
}

type Permit = (service: string) => void;

/**
 * Unknown: nothing of it is in the cluster. Bare: it has a namespace and no manifest there, as one that is being torn down.
 * Idle: it has a manifest, and nothing of it runs.
 */
export type TenantLease =
  | { readonly state: "unknown" | "bare" | "idle"; readonly why?: string | undefined }
  | RunningLease;

export interface RunningLease {
  readonly state: "running";
  /** In the order of their names. */
  readonly services: readonly TenantService[];
  /** Undefined where nothing of it is reached by a port of a node. */
  readonly forwardedPorts: readonly ForwardedPort[] | undefined;
  /** Undefined where nothing of it is reached by an address of its own. */
  readonly addresses: readonly LeasedAddress[] | undefined;
  /** How its host names are doing, as far as that is known. */
  readonly hostHealth?: readonly TenantHost[];
  /** What is wrong, in the tenant's words. */
  readonly errors: readonly LeaseError[];
}

export interface TenantService {
  readonly name: string;
  /** Host names that lead to it, in order. */
  readonly hosts: readonly string[];
  readonly observedGeneration: number;
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
}

export interface TenantHost {
  readonly host: string;
  readonly service: string;
  readonly health: string;
  readonly why: string;
}

export interface ForwardedPort {
  readonly service: string;
  readonly host: string;
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
}

export interface LeasedAddress {
  readonly service: string;
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
  readonly address: string;
}

interface LeaseError {
  /** Undefined where it is about the lease as a whole. */
  readonly service: string | undefined;
  readonly text: string;
}

/** What tenants send us to run. Who asks is the owner: the gateway has made sure of it. */
export interface TenantManifests {
  /** Resolves when it is safe. Throws why it is refused, and then nothing has changed. */
  submit(deployment: DeploymentId, body: string | Uint8Array, signal: AbortSignal): Promise<unknown>;
  /** Takes it back. Throws AKP_NO_LEASE where there is none of ours. */
  withdraw(deployment: DeploymentId, signal: AbortSignal): Promise<unknown>;
  /** The last one that was taken for a lease. */
  manifestOf(lease: LeaseId): { readonly group: ManifestGroup; readonly withdrawnAtMs?: number } | undefined;
}

/**
 * What the pods of a lease say and do, while it happens. All of it goes on until it is over or the signal; where it cannot
 * begin or go on, it throws: AKP_KUBE_* where the cluster cannot be asked.
 */
export interface TenantPods {
  /** In batches, so that a fast container costs little for each line. */
  logs(lease: LeaseId, asked: LogsAsked): AsyncIterable<readonly PodLine[]>;
  /** What happened, then what happens. */
  events(lease: LeaseId, asked: EventsAsked): AsyncIterable<readonly TenantEvent[]>;
  /** Runs a command in one of a service's containers. */
  exec(lease: LeaseId, asked: CommandAsked): Promise<ExecSession>;
}

export interface LogsAsked {
  /** Undefined: of all services. */
  readonly services: ReadonlySet<string> | undefined;
  readonly follow: boolean;
  /** So many of the last lines of each container; undefined: all. */
  readonly tail: number | undefined;
  readonly signal: AbortSignal;
}

export interface PodLine {
  readonly service: string;
  readonly pod: string;
  readonly text: string;
}

interface EventsAsked {
  /** Undefined: of all services, and of the lease as a whole. */
  readonly services: ReadonlySet<string> | undefined;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** As the cluster tells it. */
export interface TenantEvent {
  readonly type: "Normal" | "Warning";
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly reason: string;
  readonly note: string;
  readonly object: { readonly kind: string; readonly namespace: string; readonly name: string };
}

export interface CommandAsked {
  readonly service: string;
  /** Which of its pods, in the order of their names. */
  readonly podIndex: number;
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly signal: AbortSignal;
}

/** What the gateway needs of the other services, so that it need not know them. */
import type { ExecSession } from "../kube/kube.ts";
import type { DeploymentId, LeaseId } from "../market/ids.ts";
import type { ManifestGroup } from "../market/manifest.ts";

/** What runs for a lease, as its tenant may see it. All of it comes from caches. */
export interface TenantLeasesPort {
  /** Throws AKP_CLUSTER_UNKNOWN while what is known of the cluster may not be told. */
  find(lease: LeaseId): TenantLease;
  runs(lease: LeaseId): boolean;
  /** Moves host names from other leases of the owner. `permit` is called for each service they lead to; what it throws undoes all. */
  moveHosts(hosts: readonly string[], to: LeaseId, permit: Permit, signal: AbortSignal): Promise<void>;
  /** The same with endpoints of leased addresses. */
  moveEndpoints(endpoints: readonly string[], to: LeaseId, permit: Permit, signal: AbortSignal): Promise<void>;
  leasesOf(owner: string, dseq: bigint): readonly LeaseId[];
  leaseOf(owner: string, dseq: bigint, gseq: number): LeaseId | undefined;
}

type Permit = (service: string) => void;

/** Unknown: nothing is in the cluster. Bare: a namespace without a manifest. Idle: a manifest, and nothing runs. */
export type TenantLease =
  | { readonly state: "unknown" | "bare" | "idle"; readonly why?: string | undefined }
  | RunningLease;

export interface RunningLease {
  readonly state: "running";
  readonly services: readonly TenantService[];
  /** Undefined where nothing of it is reached by a port of a node. */
  readonly forwardedPorts: readonly ForwardedPort[] | undefined;
  /** Undefined where nothing of it is reached by an address of its own. */
  readonly addresses: readonly LeasedAddress[] | undefined;
  /** How its host names are doing, as far as that is known. */
  readonly hostHealth?: readonly TenantHost[];
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
  readonly service: string | undefined;
  readonly text: string;
}

/** What tenants send us to run. Who asks is the owner: the gateway has made sure of it. */
export interface TenantManifests {
  /** Resolves when it is safe. Throws why it is refused, and then nothing has changed. */
  submit(deployment: DeploymentId, body: string | Uint8Array, signal: AbortSignal): Promise<unknown>;
  /** Takes it back. Throws AKP_NO_LEASE where there is none of ours. */
  withdraw(deployment: DeploymentId, signal: AbortSignal): Promise<unknown>;
  manifestOf(lease: LeaseId): { readonly group: ManifestGroup; readonly withdrawnAtMs?: number } | undefined;
}

/** What the pods of a lease say and do, until it is over or the signal. Throws AKP_KUBE_* where the cluster is away. */
export interface TenantPods {
  /** In batches, so that a fast container costs little for each line. */
  logs(lease: LeaseId, asked: LogsAsked): AsyncIterable<readonly PodLine[]>;
  events(lease: LeaseId, asked: EventsAsked): AsyncIterable<readonly TenantEvent[]>;
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

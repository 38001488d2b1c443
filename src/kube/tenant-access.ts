/** What a tenant may read and do of a lease that runs in the cluster: the cluster service provides it, the gateway serves it. */
import type { LeaseId } from "../market/ids.ts";
import type { ExecOptions, ExecSession } from "./kube.ts";

/** Answered from caches. */
export interface TenantLeases {
  /** Throws AKP_CLUSTER_UNKNOWN while the caches are not current. */
  find(lease: LeaseId): TenantLease;
  runs(lease: LeaseId): boolean;
  leasesOf(owner: string, dseq: bigint): readonly LeaseId[];
  leaseOf(owner: string, dseq: bigint, gseq: number): LeaseId | undefined;
  /** Moves host names from other leases of the owner, all or none. */
  moveHosts(hosts: readonly string[], to: LeaseId, permit: PermitService, signal: AbortSignal): Promise<void>;
  /** Moves endpoints of leased addresses in the same way. */
  moveEndpoints(endpoints: readonly string[], to: LeaseId, permit: PermitService, signal: AbortSignal): Promise<void>;
}

/** Called for each service that what is moved leads to; throws where the caller may not use it. */
export type PermitService = (service: string) => void;

/** Unknown: nothing is in the cluster. Bare: a namespace without a manifest. Idle: a manifest without workloads. */
export type TenantLease =
  | { readonly state: "unknown" | "bare" | "idle"; readonly why?: string | undefined }
  | RunningLease;

export interface RunningLease {
  readonly state: "running";
  readonly services: readonly TenantService[];
  /** Undefined where the manifest has none. */
  readonly forwardedPorts: readonly ForwardedPort[] | undefined;
  readonly addresses: readonly LeasedAddress[] | undefined;
  readonly hostHealth?: readonly TenantHost[];
  readonly errors: readonly { readonly service: string | undefined; readonly text: string }[];
}

export interface TenantService {
  readonly name: string;
  /** Host names that lead to it, sorted. */
  readonly hosts: readonly string[];
  readonly observedGeneration: number;
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
}

export interface ForwardedPort {
  readonly service: string;
  readonly host: string;
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
}

export interface LeasedAddress extends Omit<ForwardedPort, "host"> {
  readonly address: string;
}

export interface TenantHost {
  readonly host: string;
  readonly service: string;
  readonly health: string;
  readonly why: string;
}

/** Throws AKP_KUBE_* where the API server does not answer. */
export interface TenantPods {
  /** In batches, to keep the cost per line small. */
  logs(lease: LeaseId, request: LogsRequest): AsyncIterable<readonly PodLine[]>;
  events(lease: LeaseId, request: EventsRequest): AsyncIterable<readonly TenantEvent[]>;
  exec(lease: LeaseId, request: CommandRequest): Promise<ExecSession>;
}

export interface EventsRequest {
  /** Undefined: all services, and the lease as a whole. */
  readonly services: ReadonlySet<string> | undefined;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

export interface LogsRequest extends EventsRequest {
  /** How many of the last lines of each container; undefined: all. */
  readonly tail: number | undefined;
}

export interface PodLine {
  readonly service: string;
  readonly pod: string;
  readonly text: string;
}

export interface TenantEvent {
  readonly type: "Normal" | "Warning";
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly reason: string;
  readonly note: string;
  readonly object: { readonly kind: string; readonly namespace: string; readonly name: string };
}

export interface CommandRequest extends Pick<ExecOptions, "command" | "tty" | "stdin"> {
  readonly service: string;
  /** Index into the service's pods, sorted by name. */
  readonly podIndex: number;
  readonly signal: AbortSignal;
}

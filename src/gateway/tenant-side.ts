/** What the gateway needs of the other services, so that it need not know them. */
import type { LeaseId } from "../market/ids.ts";

/** What runs for a lease, as its tenant may see it. All of it comes from caches. */
export interface TenantLeases {
  /** Throws AKP_CLUSTER_UNKNOWN while what is known of the cluster may not be told. */
  find(lease: LeaseId): TenantLease | undefined;
  /**
   * Gives a lease host names that another one of its owner has, those and no others. `permit` is told every service that is
   * led to by them; what it throws keeps them all where they are.
   */
  moveHosts(hosts: readonly string[], to: LeaseId, permit: Permit, signal: AbortSignal): Promise<void>;
  /** The same with endpoints of leased addresses. */
  moveEndpoints(endpoints: readonly string[], to: LeaseId, permit: Permit, signal: AbortSignal): Promise<void>;
  /** The running lease of an owner's group. */
  leaseOf(owner: string, dseq: bigint, gseq: number): LeaseId | undefined;
}

type Permit = (service: string) => void;

export interface TenantLease {
  /** In the order of their names. */
  readonly services: readonly TenantService[];
  readonly forwardedPorts: readonly ForwardedPort[];
  readonly addresses: readonly LeasedAddress[];
  /** Whether its manifest has anything that is reached by a port of a node, or by an address of its own. */
  readonly hasForwardedPorts: boolean;
  readonly hasAddresses: boolean;
  /** What is wrong, in the tenant's words. */
  readonly errors: readonly string[];
}

export interface TenantService {
  readonly name: string;
  /** Host names that lead to it, in order. */
  readonly hosts: readonly string[];
  /** Reached over HTTP by a name. */
  readonly hasIngress: boolean;
  readonly total: number;
  readonly observedGeneration: number;
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
}

export interface ForwardedPort {
  readonly service: string;
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
  readonly name: string;
}

export interface LeasedAddress {
  readonly service: string;
  readonly port: number;
  readonly externalPort: number;
  readonly protocol: string;
  readonly address: string;
}

/** Services and the endpoints behind them. */
import type { OwnerReference, Stored } from "./metadata.ts";

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly nodePort?: number;
  readonly [other: string]: unknown;
}

export interface Service extends Stored {
  readonly spec: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
    readonly publishNotReadyAddresses?: boolean;
    readonly allocateLoadBalancerNodePorts?: boolean;
    readonly [other: string]: unknown;
  };
}

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean };
  readonly nodeName?: string;
  readonly targetRef?: Omit<OwnerReference, "apiVersion"> & { readonly namespace?: string };
}

export interface EndpointPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
}

export interface EndpointSlice extends Stored {
  readonly addressType: string;
  readonly endpoints: readonly Endpoint[];
  readonly ports: readonly EndpointPort[];
}

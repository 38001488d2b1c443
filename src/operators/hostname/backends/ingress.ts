/** What the routes of every ingress controller have in common. */
import { kinds } from "../../../kube/kinds.ts";
import type { DesiredObject } from "../../../kube/objects/lease-workload.ts";
import type { Directive } from "../directive.ts";
import { digestOf, routeMeta, type TlsOptions } from "./backend.ts";

export interface IngressOptions {
  readonly ingressClass: string;
  readonly tls: TlsOptions;
}

export function ingressOf(
  directive: Directive,
  annotations: Readonly<Record<string, string>>,
  { ingressClass, tls }: IngressOptions,
): DesiredObject {
  const { host, service, externalPort } = directive;
  const backend = { service: { name: service, port: { number: externalPort } } };
  const issuer: Record<string, string> =
    tls.issuer === undefined ? {} : { "cert-manager.io/cluster-issuer": tls.issuer };
  return {
    kind: kinds.ingress,
    object: {
      metadata: { ...routeMeta(directive), annotations: { ...annotations, ...issuer } },
      spec: {
        ingressClassName: ingressClass,
        rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
        ...tlsOf(host, tls),
      },
    },
  };
}

/** A Secret of another namespace cannot be named; without one, controllers show their default certificate. */
function tlsOf(host: string, { secret, issuer }: TlsOptions): { tls?: readonly object[] } {
  const hosts = [host];
  if (issuer !== undefined) return { tls: [{ hosts, secretName: `akash-${digestOf(host)}-tls` }] };
  if (secret === undefined) return {};
  return { tls: [secret.includes("/") ? { hosts } : { hosts, secretName: secret }] };
}

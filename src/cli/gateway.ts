/** How tenants reach the provider, from its settings. */
import { join } from "node:path";
import type { CertificateOptions } from "../gateway/certificate/certificate-service.ts";
import type { GatewayOptions } from "../gateway/gateway-service.ts";
import type { TakenSettings } from "./settings.ts";
import { version } from "./version.ts";

function issuerOf(values: TakenSettings["values"]): Pick<CertificateOptions, "issuer"> {
  const { certIssuerEnabled, certIssuerEmail: email, certIssuerKid: kid, certIssuerHmac: hmac } = values;
  if (!certIssuerEnabled || email === undefined) return {};
  return {
    issuer: {
      ...{ directoryUrl: values.certIssuerCaDirUrl, email, dir: values.certIssuerStorageDir },
      httpPort: values.certIssuerHttpChallengePort,
      tlsPort: values.certIssuerTlsChallengePort,
      ...(kid !== undefined && hmac !== undefined && { binding: { kid, hmacKey: hmac } }),
    },
  };
}

/** Only the pod of the provider is given its namespace: elsewhere objects of our own would have no owner. */
export function isInPod({ values, sources }: Pick<TakenSettings, "values" | "sources">): boolean {
  return values.clusterK8s && sources.podNamespace !== "default";
}

export function gatewayOf({ values, sources }: Pick<TakenSettings, "values" | "sources">): GatewayOptions {
  const { gatewayListenAddress: listen, clusterPublicHostname, dataDir, home, podNamespace } = values;
  const { gatewayTlsCert: certificate, gatewayTlsKey: key } = values;
  // The two are for the same name; who asks for an issuer is warned that the files have no effect.
  const hasFiles = certificate !== undefined && key !== undefined && !values.certIssuerEnabled;
  return {
    grpcListen: values.gatewayGrpcListenAddress,
    proxyProtocolFrom: values.gatewayProxyProtocolFrom,
    trustedProxies: values.gatewayTrustedProxies,
    ...{ listen, version, publicHost: clusterPublicHostname === "" ? undefined : clusterPublicHostname },
    metricsTokenFile: values.gatewayMetricsTokenFile,
    certificate: {
      keptIn: isInPod({ values, sources }) ? { namespace: podNamespace } : { path: join(dataDir, "certificates.pem") },
      home,
      ...(hasFiles && { files: { certificate, key } }),
      ...issuerOf(values),
    },
  };
}

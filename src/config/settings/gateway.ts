import { ipRanges, listenAddress, portOrZero, url } from "../formats/addresses.ts";
import { commaList } from "../formats/format.ts";
import { choice, freeText, onOff, path, secret } from "../formats/plain.ts";
import { belowHome, dead, group, optionalRow, setting } from "../setting.ts";

export const gatewayGroup = group({
  title: "Gateway",
  about: "Where tenants reach the provider, and its certificates.",
  settings: {
    gatewayListenAddress: setting("gateway-listen-address", listenAddress, {
      default: "0.0.0.0:8443",
      doc: "Where the REST gateway listens.",
    }),
    gatewayGrpcListenAddress: setting("gateway-grpc-listen-address", listenAddress, {
      default: "0.0.0.0:8444",
      doc: "Where the gRPC gateway listens.",
    }),
    gatewayProxyProtocolFrom: setting("gateway-proxy-protocol-from", ipRanges, {
      default: "",
      doc: "Addresses of proxies that send the PROXY protocol, version 1 or 2. Each of their connections must begin with it.",
    }),
    gatewayTrustedProxies: setting("gateway-trusted-proxies", ipRanges, {
      default: "",
      doc: "Addresses behind which many clients are: limits per client count each of their connections as a client of its own.",
    }),
    gatewayTlsCert: optionalRow("gateway-tls-cert", path, {
      doc: "A certificate from an authority that browsers trust; read again when it changes.",
    }),
    gatewayTlsKey: optionalRow("gateway-tls-key", path, { doc: "The key of that certificate." }),
    gatewayMetricsTokenFile: optionalRow("gateway-metrics-token-file", path, {
      doc: "A file with the bearer token that opens all metrics on the gateway; read again when it changes. Strangers see four of them.",
    }),
    certIssuerEnabled: setting("cert-issuer-enabled", onOff, {
      default: "false",
      doc: "Get and renew a certificate for --cluster-public-hostname by ACME.",
    }),
    certIssuerEmail: optionalRow("cert-issuer-email", freeText("an email address", /^[^\s/]+@[^\s/]+$/, "<email>"), {
      doc: "Whom the authority writes to about the certificate.",
    }),
    certIssuerCaDirUrl: setting(
      "cert-issuer-ca-dir-url",
      url(["https", "http"], "https://acme-v02.api.letsencrypt.org/directory"),
      {
        default: "https://acme-staging-v02.api.letsencrypt.org/directory",
        doc: "The ACME directory of the authority; the default is Let's Encrypt's for trying things out.",
      },
    ),
    certIssuerStorageDir: setting("cert-issuer-storage-dir", path, {
      default: belowHome(".certissuer"),
      doc: "Folder of the ACME account and its certificates.",
    }),
    certIssuerHttpChallengePort: setting("cert-issuer-http-challenge-port", portOrZero, {
      default: "0",
      doc: "Port on which http-01 challenges are answered; 0 turns them off.",
    }),
    certIssuerTlsChallengePort: setting("cert-issuer-tls-challenge-port", portOrZero, {
      default: "0",
      doc: "Port on which tls-alpn-01 challenges are answered; 0 turns them off.",
    }),
    certIssuerDnsProviders: setting(
      "cert-issuer-dns-providers",
      commaList(choice(["cf", "gcloud"], { cloudflare: "cf", googleCloud: "gcloud" }), "a list of cf and gcloud"),
      {
        default: "",
        doc: "DNS services of the network's provider, for dns-01 challenges. This provider answers the other kinds.",
      },
    ),
    certIssuerKid: optionalRow("cert-issuer-kid", freeText("a key id"), {
      doc: "Key id of an account at the authority, where it wants one (external account binding).",
    }),
    certIssuerHmac: optionalRow("cert-issuer-hmac", secret, { doc: "The key that belongs to --cert-issuer-kid." }),
  },
  inert: [
    dead("cert-issuer-dns-resolvers", "dns-01 challenges are refused, so nobody looks whether one can be seen"),
    dead("auth-pem", "the certificate is found by the provider's address in --home"),
  ],
});

import { listenAddress, portOrZero, url } from "../addresses.ts";
import { listOf } from "../kind.ts";
import { choice, onOff, path, secret, text } from "../plain.ts";
import { belowHome, dead, type Group, optional, setting } from "../setting.ts";

export const gatewayGroup = {
  title: "Gateway",
  about: "Where tenants reach the provider, and its certificates.",
  settings: {
    gatewayListenAddress: setting({
      flag: "gateway-listen-address",
      kind: listenAddress,
      default: "0.0.0.0:8443",
      doc: "Where the REST gateway listens.",
    }),
    gatewayGrpcListenAddress: setting({
      flag: "gateway-grpc-listen-address",
      kind: listenAddress,
      default: "0.0.0.0:8444",
      doc: "Where the gRPC gateway listens.",
    }),
    gatewayTlsCert: optional({
      flag: "gateway-tls-cert",
      kind: path,
      doc: "A certificate from an authority that browsers trust; read again when it changes.",
    }),
    gatewayTlsKey: optional({
      flag: "gateway-tls-key",
      kind: path,
      doc: "The key of that certificate.",
    }),
    certIssuerEnabled: setting({
      flag: "cert-issuer-enabled",
      kind: onOff,
      default: "false",
      doc: "Get and renew a certificate for --cluster-public-hostname by ACME.",
    }),
    certIssuerEmail: optional({
      flag: "cert-issuer-email",
      kind: text("an email address", /^\S+@\S+$/, "<email>"),
      doc: "Whom the authority writes to about the certificate.",
    }),
    certIssuerCaDirUrl: setting({
      flag: "cert-issuer-ca-dir-url",
      kind: url(["https", "http"], "https://acme-v02.api.letsencrypt.org/directory"),
      default: "https://acme-staging-v02.api.letsencrypt.org/directory",
      doc: "The ACME directory of the authority; the default is Let's Encrypt's for trying things out.",
    }),
    certIssuerStorageDir: setting({
      flag: "cert-issuer-storage-dir",
      kind: path,
      default: belowHome(".certissuer"),
      doc: "Folder of the ACME account and its certificates.",
    }),
    certIssuerHttpChallengePort: setting({
      flag: "cert-issuer-http-challenge-port",
      kind: portOrZero,
      default: "0",
      doc: "Port on which http-01 challenges are answered; 0 turns them off.",
    }),
    certIssuerTlsChallengePort: setting({
      flag: "cert-issuer-tls-challenge-port",
      kind: portOrZero,
      default: "0",
      doc: "Port on which tls-alpn-01 challenges are answered; 0 turns them off.",
    }),
    certIssuerDnsProviders: setting({
      flag: "cert-issuer-dns-providers",
      kind: listOf(choice(["cf", "gcloud"], { cloudflare: "cf", googleCloud: "gcloud" }), "a list of cf and gcloud"),
      default: "",
      doc: "DNS services in which dns-01 challenges are answered.",
    }),
    certIssuerDnsResolvers: setting({
      flag: "cert-issuer-dns-resolvers",
      kind: listOf(text("a name server", /^[\w.:[\]-]+$/), "a list like 1.1.1.1,8.8.8.8"),
      default: "1.1.1.1,8.8.8.8",
      doc: "Name servers that are asked whether a dns-01 challenge can be seen.",
    }),
    certIssuerKid: optional({
      flag: "cert-issuer-kid",
      kind: text("a key id"),
      doc: "Key id of an account at the authority, where it wants one (external account binding).",
    }),
    certIssuerHmac: optional({
      flag: "cert-issuer-hmac",
      kind: secret,
      doc: "The key that belongs to --cert-issuer-kid.",
    }),
    authPem: dead({ flag: "auth-pem", why: "the certificate is found by the provider's address in --home" }),
  },
} as const satisfies Group;

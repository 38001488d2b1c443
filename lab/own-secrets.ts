/** Credentials of a test's own control plane. */
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { makeCertificate, type TestCertificate } from "../test/support/test-certificate.ts";
import { write } from "./files.ts";

/** Secrets of a server that only this machine can reach, and only for a minute. */
export const ownUsers = {
  admin: { token: "admin-token" },
  /** Has no role unless a test grants one. */
  unprivileged: { token: "unprivileged-token" },
} as const;

export const serviceAccountIssuer = "https://kubernetes.default.svc.cluster.local";

/** That its certificate is for: a test may reach the server through a proxy on another address. */
export const serverName = "kube-apiserver";

export interface OwnSecrets {
  /** Signs client certificates that the API server believes. */
  readonly authority: TestCertificate;
  /** Signs service account tokens that the API server believes (RS256). */
  readonly accountKeyPem: string;
}

export function writeSecrets(folder: string): OwnSecrets {
  const put = (name: string, content: string | object) => write(join(folder, name), content);
  const authority = makeCertificate({ name: "lab" });
  const server = makeCertificate({ name: serverName, host: serverName, issuer: authority });
  put("ca.crt", authority.certPem);
  put("apiserver.crt", server.certPem);
  put("apiserver.key", server.keyPem);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const accountKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  put("service-account.key", accountKeyPem);
  const { admin, unprivileged } = ownUsers;
  put("tokens.csv", `${admin.token},admin,admin,"system:masters"\n${unprivileged.token},unprivileged,unprivileged\n`);
  put("audit-policy.json", auditPolicy);
  return { authority, accountKeyPem };
}

/** Audit policy: metadata of every request, after its answer. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

export function kubeconfigOf(server: string, authorityPem: string, user: object): object {
  const cluster = {
    server,
    "tls-server-name": serverName,
    "certificate-authority-data": Buffer.from(authorityPem).toString("base64"),
  };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "own", cluster }],
    users: [{ name: "me", user }],
    contexts: [{ name: "own", context: { cluster: "own", user: "me" } }],
    "current-context": "own",
  };
}

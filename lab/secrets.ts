/** Credentials of the lab: a certificate authority, certificates, tokens and a kubeconfig for each component. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { write } from "./files.ts";
import { needProgram } from "./machine.ts";
import { apiServer, network, nodeName, places } from "./places.ts";

/** Names and groups are those Kubernetes' own default roles are bound to. */
const identities = {
  admin: { user: "admin", group: "system:masters" },
  "kube-controller-manager": { user: "system:kube-controller-manager", group: "" },
  "kube-scheduler": { user: "system:kube-scheduler", group: "" },
  "kube-proxy": { user: "system:kube-proxy", group: "" },
  kubelet: { user: `system:node:${nodeName}`, group: "system:nodes" },
  // No default role fits these: they do whatever their objects need.
  kwok: { user: "kwok", group: "system:masters" },
  "network-policy": { user: "network-policy", group: "system:masters" },
} as const;

export type Identity = keyof typeof identities;

/** The API server's identity at aggregated API servers, which trust its user headers. */
export const frontProxy = "front-proxy";

/** No lab is kept for longer than a year. */
const validDays = "365";

export function secret(name: string): string {
  return join(places.secrets, name);
}

export function kubeconfigOf(identity: Identity): string {
  return identity === "admin" ? places.kubeconfig : secret(`${identity}.kubeconfig`);
}

export function tokenOf(identity: Identity): string {
  return readFileSync(secret(`${identity}.token`), "utf8");
}

/** Creates missing files and keeps existing ones. */
export function makeSecrets(): void {
  mkdirSync(places.secrets, { recursive: true, mode: 0o700 });
  makeAuthority("ca");
  // A CA of its own: its client certificates may impersonate any user.
  makeAuthority("front-proxy-ca");
  const names = ["DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc"];
  const addresses = ["127.0.0.1", network.node, network.apiService].map((address) => `IP:${address}`);
  makeCertificate("apiserver", "/CN=kube-apiserver", `subjectAltName=${[...names, ...addresses].join(",")}`);
  makeCertificate("kubelet-client", "/O=system:masters/CN=kube-apiserver", "extendedKeyUsage=clientAuth");
  makeCertificate("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth");
  makeCertificate("front-proxy", `/CN=${frontProxy}`, "extendedKeyUsage=clientAuth", "front-proxy-ca");
  if (!existsSync(secret("service-account.key"))) openssl(["genrsa", "-out", secret("service-account.key"), "2048"]);
  makeTokens();
}

function makeAuthority(name: string): void {
  if (existsSync(secret(`${name}.crt`))) return;
  openssl([...selfSigned(name, "/CN=lab"), "-addext", "keyUsage=critical,keyCertSign,cRLSign"]);
}

function makeCertificate(name: string, subject: string, extension: string, authority = "ca"): void {
  if (existsSync(secret(`${name}.crt`))) return;
  const by = ["-CA", secret(`${authority}.crt`), "-CAkey", secret(`${authority}.key`)];
  openssl([...selfSigned(name, subject), ...by, "-addext", "basicConstraints=critical,CA:FALSE", "-addext", extension]);
}

function selfSigned(name: string, subject: string): string[] {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", secret(`${name}.key`)];
  return ["req", "-x509", ...key, "-out", secret(`${name}.crt`), "-subj", subject, "-days", validDays];
}

function makeTokens(): void {
  const rows: string[] = [];
  for (const [name, { user, group }] of Object.entries(identities)) {
    const file = secret(`${name}.token`);
    if (!existsSync(file)) write(file, randomBytes(24).toString("hex"));
    const token = readFileSync(file, "utf8");
    rows.push(`${token},${user},${name},"${group}"`);
    write(kubeconfigOf(name as Identity), kubeconfig(name, token));
  }
  write(secret("tokens.csv"), `${rows.join("\n")}\n`);
}

function kubeconfig(user: string, token: string): object {
  const authority = readFileSync(secret("ca.crt")).toString("base64");
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster: { server: apiServer, "certificate-authority-data": authority } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: "lab", context: { cluster: "lab", user } }],
    "current-context": "lab",
  };
}

function openssl(args: string[]): void {
  execFileSync(needProgram("openssl"), args, { stdio: ["ignore", "ignore", "pipe"] });
}

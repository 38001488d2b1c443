/** Every cause that separates a client from a real API server has its own error code, and the watch recovers when it ends. */
import assert from "node:assert/strict";
import { createSign } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { serviceAccountIssuer } from "../../lab/own-secrets.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../../src/kube/kube.ts";
import type { ErrorCode } from "../../src/runtime/catalogue.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { definitionOf } from "../support/kube/kube-definition.ts";
import type { Owner } from "../support/owner.ts";
import { makeCertificate, type TestCertificate } from "../support/test-certificate.ts";
import { hastyClock, openKube } from "./open-kube.ts";

const missing = controlPlaneMissing();

const clusterRole = rbac("ClusterRole", "clusterroles");
const clusterRoleBinding = rbac("ClusterRoleBinding", "clusterrolebindings");

describe("a watch of a real API server waits and recovers", { skip: missing }, async () => {
  if (missing) return;
  const plane = await startControlPlane({ after });
  const admin = openKube({ after }, plane.kubeconfig);

  it("when there is no kubeconfig, until there is one", async (t) => {
    const path = join(temporaryFolder(t), "kubeconfig");
    const kube = openKube(t, path);
    await failsWith(kube.list(kinds.pod), "AKP_KUBECONFIG_MISSING", path);
    const cache = watchPods(kube);
    const recovered = await erred(cache, "AKP_KUBECONFIG_MISSING", path);
    copyFileSync(plane.kubeconfig, path);
    await recovered();
  });

  it("when its client certificate has expired, until it is renewed in its file", async (t) => {
    const folder = temporaryFolder(t);
    const files = { "client-certificate": join(folder, "crt"), "client-key": join(folder, "key") };
    const put = ({ certPem, keyPem }: TestCertificate) => {
      writeFileSync(files["client-certificate"], certPem);
      writeFileSync(files["client-key"], keyPem);
    };
    const who = { name: "provider", group: "system:masters", issuer: plane.authority };
    put(makeCertificate({ ...who, until: "20200102000000Z" }));
    const path = plane.writeKubeconfig("certificate", files);
    const kube = openKube(t, path);
    await failsWith(kube.list(kinds.pod), "AKP_KUBE_UNAUTHORIZED", path, "list pods");
    const cache = watchPods(kube);
    const recovered = await erred(cache, "AKP_KUBE_UNAUTHORIZED", path, "list pods");
    put(makeCertificate(who));
    await recovered();
  });

  it("when its token has expired, until it is renewed in its file", async (t) => {
    const account = await admin.create(kinds.serviceAccount, { metadata: { namespace: "default", name: "provider" } });
    await admin.create(clusterRoleBinding, binding("provider", "cluster-admin", serviceAccountUser(account)));
    const tokenFile = join(temporaryFolder(t), "token");
    const hourMs = 3_600_000;
    writeFileSync(tokenFile, accountToken(account, plane.accountKeyPem, Date.now() - hourMs));
    const path = plane.writeKubeconfig("token", { tokenFile });
    const kube = openKube(t, path);
    await failsWith(kube.list(kinds.pod), "AKP_KUBE_UNAUTHORIZED", path, "list pods");
    const cache = watchPods(kube);
    const recovered = await erred(cache, "AKP_KUBE_UNAUTHORIZED", path, "list pods");
    writeFileSync(tokenFile, accountToken(account, plane.accountKeyPem, Date.now() + hourMs));
    await recovered();
  });

  it("when no server listens, until one does", async (t) => {
    await plane.killApi();
    const kube = openKube(t, plane.kubeconfig);
    const cache = watchPods(kube);
    const recovered = await erred(cache, "AKP_KUBE_UNREACHABLE", plane.apiUrl, "list pods", "ECONNREFUSED");
    assert.match((cache.error as ProviderError).advice, new RegExp(plane.kubeconfig));
    await plane.startApi();
    await recovered();
  });

  it("when the address is a hole in which everything vanishes, until the kubeconfig has another", async (t) => {
    const holeUrl = await startHole(t);
    const path = plane.writeKubeconfig("hole", plane.admin, holeUrl);
    // Requests time out after half a minute; the kubeconfig is read again once a minute.
    const kube = openKube(t, path, { clock: hastyClock(20) });
    const cache = watchPods(kube);
    const recovered = await erred(cache, "AKP_KUBE_UNREACHABLE", holeUrl, "list pods", "no answer within 30000 ms");
    plane.writeKubeconfig("hole", plane.admin);
    await recovered();
  });

  it("when a verb is forbidden, until it is granted", async (t) => {
    const kube = openKube(t, plane.unprivilegedKubeconfig);
    const web = { namespace: "default", name: "web" };
    await failsWith(
      kube.delete(kinds.deployment, web),
      "AKP_KUBE_FORBIDDEN",
      "delete deployments.apps web",
      '"unprivileged"',
    );
    const cache = watchPods(kube);
    await erred(cache, "AKP_KUBE_FORBIDDEN", "list pods", '"unprivileged"');
    const reader = (...verbs: string[]) => ({
      metadata: { name: "reader" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs }],
    });
    await admin.apply(clusterRole, reader("list"));
    await admin.apply(clusterRoleBinding, binding("unprivileged", "reader", { kind: "User", name: "unprivileged" }));
    const recovered = await erred(cache, "AKP_KUBE_FORBIDDEN", "watch pods", '"unprivileged"');
    await admin.apply(clusterRole, reader("list", "watch"));
    await recovered();
  });

  it("when the custom resource is not installed, until it is; and again when it was removed meanwhile", async (t) => {
    const kube = openKube(t, plane.kubeconfig, { clock: hastyClock(5) });
    const cache = kube.watch({ kind: kinds.providerHost, project: ({ metadata }) => metadata.name });
    const definition = definitionOf(kinds.providerHost);
    const host = { metadata: { namespace: "default", name: "example.com" } };
    const installed = await erred(cache, "AKP_KUBE_KIND_MISSING", "providerhosts.akash.network", "list");
    await admin.create(kinds.customResourceDefinition, definition);
    await installed();
    await admin.create(kinds.providerHost, host);
    await eventually("the object", () => cache.size === 1);
    await admin.delete(kinds.customResourceDefinition, definition.metadata);
    const installedAgain = await erred(cache, "AKP_KUBE_KIND_MISSING", "providerhosts.akash.network");
    await eventually("its definition to be gone", async () => {
      return !(await admin.get(kinds.customResourceDefinition, definition.metadata));
    });
    await admin.create(kinds.customResourceDefinition, definition);
    await installedAgain();
    assert.equal(cache.size, 0);
  });
});

function watchPods(kube: Kube): WatchCache<string> {
  return kube.watch({ kind: kinds.pod, project: ({ metadata }) => metadata.name });
}

async function failsWith(work: Promise<unknown>, code: ErrorCode, ...words: string[]): Promise<void> {
  const error = await work.then(() => assert.fail(`${code} did not come`), ProviderError.from);
  assert.equal(error.code, code, error.message);
  for (const word of words) assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
}

/** Waits for this error; returns how to wait for its end. */
async function erred(cache: WatchCache<unknown>, code: ErrorCode, ...words: string[]): Promise<() => Promise<void>> {
  await eventually(`${code} with ${words.join(", ")}`, () => {
    const { error } = cache;
    return ProviderError.is(error, code) && words.every((word) => error.message.includes(word));
  });
  const { connections } = cache.counts;
  const isOver = () => cache.ready && cache.error === undefined && cache.counts.connections > connections;
  return async () => void (await eventually("the watch", isOver));
}

/** Takes connections and never says a word. */
async function startHole(owner: Owner): Promise<string> {
  const server = createServer((socket) => owner.after(() => void socket.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  owner.after(() => void server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function rbac(kind: string, plural: string): Kind {
  return { group: "rbac.authorization.k8s.io", version: "v1", kind, plural, namespaced: false };
}

function binding(name: string, role: string, subject: object): KubeObject {
  const apiGroup = "rbac.authorization.k8s.io";
  return { metadata: { name }, roleRef: { apiGroup, kind: "ClusterRole", name: role }, subjects: [subject] };
}

function serviceAccountUser({ metadata: { namespace, name } }: KubeObject): object {
  return { kind: "ServiceAccount", namespace, name };
}

/** As the API server itself would have signed it. */
function accountToken({ metadata }: KubeObject, keyPem: string, expiresMs: number): string {
  const { namespace, name, uid } = metadata;
  const seconds = Math.floor(expiresMs / 1_000);
  const claims = {
    iss: serviceAccountIssuer,
    aud: [serviceAccountIssuer],
    sub: `system:serviceaccount:${namespace}:${name}`,
    iat: seconds - 3_600,
    nbf: seconds - 3_600,
    exp: seconds,
    "kubernetes.io": { namespace, serviceaccount: { name, uid } },
  };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "RS256", typ: "JWT" })}.${part(claims)}`;
  return `${signed}.${createSign("sha256").update(signed).sign(keyPem, "base64url")}`;
}

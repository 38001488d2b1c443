import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import type { ErrorCode } from "../../runtime/catalogue.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { readIdentity, readPodNamespace } from "./kubeconfig.ts";

const cluster = { server: "https://10.0.0.1:6443/k8s", "certificate-authority": "ca.pem", "tls-server-name": "api" };
const user = { "client-certificate-data": Buffer.from("CERT").toString("base64"), "client-key": "/keys/key.pem" };

function config(parts: Record<string, unknown> = {}): string {
  return JSON.stringify({
    "current-context": "one",
    contexts: [
      { name: "one", context: { cluster: "c", user: "u", namespace: "akash" } },
      { name: "two", context: { cluster: "missing", user: "u" } },
    ],
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
    ...parts,
  });
}

function rejects(read: () => unknown, code: ErrorCode, words: RegExp): void {
  assert.throws(read, (thrown) => ProviderError.is(thrown, code) && words.test(thrown.message));
}

test("what is null is not there, as kubectl writes it where a file has none, and a context for another day may be unfinished", (t) => {
  const folder = temporaryFolder(t);
  const [context, whole] = [join(folder, "context"), join(folder, "whole")];
  // The very file that `kubectl config set-context foo --cluster=c` makes, but for the last context.
  const contexts = 'contexts:\n- context:\n    cluster: c\n    user: ""\n  name: foo\n- context: {}\n  name: bar\n';
  writeFileSync(context, `clusters: null\n${contexts}current-context: ""\npreferences: {}\nusers: null\n`);
  const exec = { command: "aws", args: null, env: null, provideClusterInfo: null };
  writeFileSync(whole, config({ users: [{ name: "u", user: { ...user, token: null, exec } }] }));
  for (const kubeconfig of [`${context}:${whole}`, `${whole}:${context}`]) {
    assert.equal(readIdentity({ kubeconfig }).plugin?.command, "aws");
  }
  writeFileSync(whole, config({ users: [{ name: "u", user: null }] }));
  assert.equal(readIdentity({ kubeconfig: whole }).token, undefined);
});

test("a kubeconfig is read as kubectl reads it: files relative to it, embedded data first", (t) => {
  const folder = temporaryFolder(t);
  const kubeconfig = join(folder, "config");
  writeFileSync(kubeconfig, config());
  const identity = readIdentity({ kubeconfig });
  assert.equal(identity.server.href, "https://10.0.0.1:6443/k8s");
  assert.equal(identity.serverName, "api");
  assert.deepEqual(identity.ca, { file: join(folder, "ca.pem") });
  assert.deepEqual(identity.cert, { text: "CERT" });
  assert.deepEqual(identity.key, { file: "/keys/key.pem" });
});

test("what is wrong with a kubeconfig is reported with its path", (t) => {
  const folder = temporaryFolder(t);
  const kubeconfig = join(folder, "config");
  const with_ = (text: string) => writeFileSync(kubeconfig, text);
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_MISSING", /config: no such file/);
  with_("a: [unclosed\nsecret-key: abc");
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /it is not YAML$/);
  with_("{}");
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /no current-context/);
  with_(config({ "current-context": "three" }));
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /no context three/);
  with_(config({ "current-context": "two" }));
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /no cluster missing/);
  with_(config({ users: [{ name: "u", user: { "auth-provider": { name: "gcp" } } }] }));
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /auth-provider/);
  with_(config({ users: [{ name: "u", user: { token: "t", as: "somebody" } }] }));
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /user u impersonates another user \(as\)/);
  with_(config({ users: [{ name: "u", user: { token: "t", "as-groups": ["system:masters"] } }] }));
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /impersonates another user \(as-groups\)/);
  with_(config({ clusters: [{ name: "c", cluster: { server: "nowhere" } }] }));
  rejects(() => readIdentity({ kubeconfig }), "AKP_KUBECONFIG_UNUSABLE", /cluster c\.server/);
});

test("of several kubeconfigs the first that says something is believed, and each names files relative to itself", (t) => {
  const folder = temporaryFolder(t);
  const write = (name: string, parts: object) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "config"), JSON.stringify(parts));
    return join(folder, name, "config");
  };
  const users = write("users", { users: [{ name: "u", user: { "client-key": "key.pem" } }] });
  const rest = write("rest", {
    "current-context": "one",
    contexts: [{ name: "one", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { token: "not this one", "client-certificate": "cert.pem" } }],
  });
  const last = write("last", { "current-context": "two", contexts: [] });
  const KUBECONFIG = [join(folder, "nowhere"), "", users, rest, last].join(":");
  const identity = readIdentity({ environment: { KUBECONFIG } });
  assert.equal(identity.server.hostname, "10.0.0.1");
  assert.deepEqual(identity.ca, { file: join(folder, "rest", "ca.pem") });
  assert.deepEqual(identity.key, { file: join(folder, "users", "key.pem") });
  assert.equal(identity.cert, undefined, "an entry is not put together from two files");
  assert.equal(identity.token, undefined);
  const nowhere = [join(folder, "no"), join(folder, "where")].join(":");
  rejects(() => readIdentity({ kubeconfig: nowhere }), "AKP_KUBECONFIG_MISSING", /no:.*where: no such file/);
});

test("in a pod the service account is used, unless a kubeconfig is named", (t) => {
  const folder = temporaryFolder(t);
  const accountFolder = join(folder, "account");
  mkdirSync(accountFolder);
  writeFileSync(join(accountFolder, "token"), "t");
  const environment = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
  const identity = readIdentity({ environment, accountFolder });
  assert.equal(identity.server.href, "https://[fd00::1]:6443/");
  assert.deepEqual(identity.token, { file: join(accountFolder, "token") });
  writeFileSync(join(folder, "config"), config());
  const named = readIdentity({ environment: { ...environment, KUBECONFIG: join(folder, "config") }, accountFolder });
  assert.equal(named.server.hostname, "10.0.0.1");
});

test("the namespace of the pod is that of its service account, unless a kubeconfig is named", (t) => {
  const accountFolder = temporaryFolder(t);
  const environment = { KUBERNETES_SERVICE_HOST: "10.96.0.1" };
  assert.equal(readPodNamespace({ environment, accountFolder }), undefined, "there is no account");
  writeFileSync(join(accountFolder, "token"), "t");
  writeFileSync(join(accountFolder, "namespace"), "akash-services\n");
  assert.equal(readPodNamespace({ environment, accountFolder }), "akash-services");
  assert.equal(readPodNamespace({ accountFolder }), undefined, "it is no pod");
  assert.equal(readPodNamespace({ environment, accountFolder, kubeconfig: "another cluster" }), undefined);
});

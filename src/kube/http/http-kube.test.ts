import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { configMap } from "../../../test/support/contracts/kube.contract.ts";
import { createCountingBoundary } from "../../../test/support/counting-boundary.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { rejection } from "../../../test/support/kube/kube-objects.ts";
import { simulateBox, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import { startKubeHttpServer } from "../../../test/support/kube-http-server.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { makeCertificate } from "../../../test/support/test-certificate.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { type Clock, realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { InvariantError } from "../../runtime/invariant.ts";
import { silentLog } from "../../runtime/log.ts";
import { kubeWatchMostMs } from "../client/watch-stream.ts";
import { kinds } from "../kinds.ts";
import type { Kube } from "../kube.ts";
import { kubeIdentityMs } from "./credentials.ts";
import { createHttpKube } from "./http-kube.ts";

const at = { namespace: "lease", name: "one" };

function connect(
  owner: Owner,
  kubeconfig: string,
  clock: Clock = realClock,
  boundary = createCountingBoundary(),
): Kube {
  const deps = { clock, random: createSeededRandom(1), log: silentLog, boundary };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  return kube;
}

async function stage(owner: Owner, clock: Clock = realClock) {
  const folder = temporaryFolder(owner);
  const cluster = simulateKube(owner, { clock });
  const api = await startKubeHttpServer(owner, cluster);
  const kubeconfig = api.writeKubeconfig(folder);
  return { cluster, api, folder, kubeconfig, kube: connect(owner, kubeconfig, clock) };
}

test("a call that the server could not serve is tried again, after the time it requested", async (t) => {
  const clock = createVirtualClock();
  const { cluster, api, kube } = await stage(t, clock);
  cluster.server.create(kinds.configMap, configMap("lease", "one", {}), "test");
  cluster.faults.reject({ status: 503 });
  cluster.faults.reject({ status: 429, retryAfterSeconds: 20 });
  const answer = kube.get(kinds.configMap, at);
  await eventually("both rejections", async () => {
    if (api.requests.length < 2) await clock.advance(100);
    return api.requests.length === 2;
  });
  await clock.advance(10_000);
  assert.equal(api.requests.length, 2, "not before the time");
  await clock.advance(20_000);
  assert.equal((await answer)?.metadata.name, "one");
  assert.equal(kube.counts.retries, 2);
});

test("a create that may have happened is not sent twice", async (t) => {
  const { cluster, api, kube } = await stage(t);
  cluster.faults.reject({ status: 500 });
  const error = await rejection(
    kube.create(kinds.configMap, configMap("lease", "one", { key: "hush" })),
    "AKP_KUBE_FAILED",
  );
  assert.doesNotMatch(JSON.stringify(error.details), /hush|Bearer/, "an error holds no secret");
  assert.equal(api.requests.length, 1);
});

test("a token that was renewed in the kubeconfig is used when the old one is rejected", async (t) => {
  const { api, kube, folder } = await stage(t);
  assert.equal((await kube.version()).minor, "34");
  api.requireToken("renewed");
  const error = await rejection(kube.version(), "AKP_KUBE_UNAUTHORIZED");
  assert.match(error.message, /kubeconfig \(to get version\)/);
  assert.doesNotMatch(JSON.stringify(error.details), /Bearer|authorization/i, "an error holds no token");
  api.writeKubeconfig(folder, "renewed");
  assert.equal((await kube.version()).minor, "34");
});

test("a credential plugin is requested once, reported which cluster it is for, and requested again when its token is rejected", async (t) => {
  const { api, folder } = await stage(t);
  const plugin = join(folder, "plugin");
  const calls = join(folder, "calls");
  const token = join(folder, "token");
  writeFileSync(token, "first");
  writeFileSync(
    plugin,
    `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO $GIVEN" >> ${calls}\nprintf '{"kind":"ExecCredential","status":{"token":"%s"}}' "$(cat ${token})"\n`,
  );
  chmodSync(plugin, 0o755);
  const kubeconfig = join(folder, "with-plugin");
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin, env: [{ name: "GIVEN", value: "7" }] };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: api.url } }],
      users: [{ name: "u", user: { exec: { ...exec, provideClusterInfo: true } } }],
    }),
  );
  const kube = connect(t, kubeconfig);
  api.requireToken("first");
  await kube.version();
  await kube.version();
  writeFileSync(token, "second");
  api.requireToken("second");
  await kube.version();
  const lines = readFileSync(calls, "utf8").trim().split("\n");
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? "", /"server":"http:\/\/127\.0\.0\.1:\d+\/".* 7$/);
  writeFileSync(plugin, "#!/bin/sh\necho 'log in first' >&2\nexit 4\n");
  api.requireToken("third");
  const error = await rejection(kube.version(), "AKP_KUBE_PLUGIN_FAILED");
  assert.match(error.message, /exit code 4: log in first/);
});

test("a credential plugin is reported of the cluster that the kubeconfig names now, and requested anew for it", async (t) => {
  const { api, folder } = await stage(t);
  const elsewhere = await startKubeHttpServer(t, simulateKube(t));
  const [plugin, calls, kubeconfig] = ["plugin", "calls", "with-plugin"].map((name) => join(folder, name));
  assert.ok(plugin && calls && kubeconfig);
  const answer = '{"kind":"ExecCredential","status":{"token":"any"}}';
  writeFileSync(plugin, `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> ${calls}\necho '${answer}'\n`);
  chmodSync(plugin, 0o755);
  const point = (server: string) => {
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin, provideClusterInfo: true };
    const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
    const named = { contexts, clusters: [{ name: "c", cluster: { server } }], users: [{ name: "u", user: { exec } }] };
    writeFileSync(kubeconfig, JSON.stringify({ "current-context": "x", ...named }));
  };
  const clock = createVirtualClock();
  point(api.url);
  const kube = connect(t, kubeconfig, clock);
  await kube.version();
  point(elsewhere.url);
  await clock.advance(kubeIdentityMs);
  await kube.version();
  const requested = readFileSync(calls, "utf8").trim().split("\n");
  assert.deepEqual(
    requested.map((line) => JSON.parse(line).spec.cluster.server),
    [`${api.url}/`, `${elsewhere.url}/`],
  );
});

test("a server that is not there, and a kubeconfig that is not there, are reported by name", async (t) => {
  const { api, kube, kubeconfig, folder } = await stage(t, createVirtualClock());
  const missing = connect(t, join(folder, "nowhere"));
  const error = await rejection(missing.version(), "AKP_KUBECONFIG_MISSING");
  assert.match(error.message, /nowhere/);
  writeFileSync(kubeconfig, readFileSync(kubeconfig, "utf8").replace(api.url, "http://127.0.0.1:1"));
  const watch = kube.watch({ kind: kinds.pod, project: ({ metadata }) => metadata.name });
  await eventually("the error", () => ProviderError.is(watch.error, "AKP_KUBE_UNREACHABLE"));
  assert.match(watch.error?.message ?? "", /127\.0\.0\.1:1 cannot be reached to list pods: .*ECONNREFUSED/);
});

test("when the kubeconfig points elsewhere, a watch shows what is there, also where versions are ahead of ours", async (t) => {
  const clock = createVirtualClock();
  const { cluster, kube, folder } = await stage(t, clock);
  cluster.server.create(kinds.secret, { metadata: at }, "test");
  const elsewhere = simulateKube(t, { clock, seed: 2 });
  for (let n = 0; n < 100; n += 1) {
    elsewhere.server.create(kinds.secret, { metadata: { namespace: "lease", name: `there-${n}` } }, "test");
  }
  const cache = kube.watch({ kind: kinds.secret, project: ({ metadata }) => metadata.name });
  await cache.synced();
  assert.deepEqual([...cache.list()], ["one"]);
  (await startKubeHttpServer(t, elsewhere)).writeKubeconfig(folder);
  // It is looked at once a minute, and the watch of before has to end.
  const soonMs = kubeIdentityMs + 2 * kubeWatchMostMs;
  const deadlineMs = clock.monotonicMs() + soonMs;
  await eventually("what is there", async () => {
    if (clock.monotonicMs() < deadlineMs) await clock.advance(1_000);
    return cache.size === 100;
  });
  assert.equal(cache.get(at), undefined);
  assert.equal(cache.counts.relists, 1);
});

test("client certificates are shown, and a server that our authority did not sign is not trusted", async (t) => {
  const folder = temporaryFolder(t);
  const authority = makeCertificate({ name: "authority" });
  const ours = makeCertificate({ name: "provider", issuer: authority });
  const theirs = makeCertificate({ name: "server", issuer: authority });
  const tls = { cert: theirs.certPem, key: theirs.keyPem, ca: authority.certPem, requestCert: true };
  const server = createServer({ ...tls, rejectUnauthorized: true }, (_, response) => {
    response.end(JSON.stringify({ major: "1", minor: "34", gitVersion: "v1.34.0" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const write = (name: string, ca: string) => {
    const path = join(folder, name);
    const user = { "client-certificate-data": base64(ours.certPem), "client-key-data": base64(ours.keyPem) };
    writeFileSync(
      path,
      JSON.stringify({
        "current-context": "x",
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        clusters: [
          { name: "c", cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority-data": base64(ca) } },
        ],
        users: [{ name: "u", user }],
      }),
    );
    return path;
  };
  assert.equal((await connect(t, write("good", authority.certPem)).version()).minor, "34");
  const foreign = makeCertificate({ name: "foreign" });
  await rejection(connect(t, write("bad", foreign.certPem)).version(), "AKP_KUBE_UNTRUSTED");
});

test("an empty name never becomes a request, since it would mean all objects", async (t) => {
  const { api, kube } = await stage(t);
  for (const name of ["", ".", ".."]) {
    await rejection(kube.delete(kinds.configMap, { namespace: "lease", name }), "AKP_KUBE_REFUSED");
    await rejection(kube.get(kinds.configMap, { namespace: "lease", name }), "AKP_KUBE_REFUSED");
  }
  await assert.rejects(async () => kube.delete(kinds.configMap, { name: "one" }), InvariantError);
  assert.deepEqual(api.requests, []);
});

test("a request to a pod goes through the API server and cannot leave the pod", async (t) => {
  const cluster = await simulateBox(t, { http: ({ method, path }) => ({ body: `${method} ${path}` }) });
  const api = await startKubeHttpServer(t, cluster);
  const kube = connect(t, api.writeKubeconfig(temporaryFolder(t)));
  const target = { kind: "pod", namespace: "lease", name: "box", port: 80 } as const;
  const answer = await kube.proxy(target, { path: "/a/../../../../secrets?x=1" });
  assert.equal(answer.status, 200);
  assert.equal(answer.body.toString(), "GET /secrets?x=1");
});

test("every write says when it is about to happen and when it has happened", async (t) => {
  const { kubeconfig } = await stage(t);
  const boundary = createCountingBoundary();
  const kube = connect(t, kubeconfig, realClock, boundary);
  await kube.apply(kinds.configMap, configMap("lease", "one", { n: "1" }));
  await kube.apply(kinds.configMap, configMap("lease", "one", { n: "1" }));
  await kube.delete(kinds.configMap, at);
  assert.deepEqual(boundary.crossings, [
    "kube apply:before",
    "kube apply:after",
    "kube delete:before",
    "kube delete:after",
  ]);
});

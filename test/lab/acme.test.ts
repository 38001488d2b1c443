/** Certificates issued by a real ACME authority: Pebble, that of Let's Encrypt's own tests. */
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { controlPlaneMissing } from "../../lab/own-control-plane.ts";
import { type OwnPebble, startPebble } from "../../lab/pebble/own-pebble.ts";
import { type IssuerOptions, openIssuer } from "../../src/gateway/acme/certificate-issuer.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { connectGateway, requestOn } from "../support/gateway-client.ts";
import { namespace } from "../support/kube/simulated-kube.ts";
import { startProgram } from "../support/program.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { publicHost, startGatewayStage } from "../support/stages/gateway-stage.ts";

const skip = controlPlaneMissing(["pebble"]);
const host = "provider.example.com";
const email = "operator@example.com";

function optionsOf(pebble: OwnPebble, dir: string, parts: Partial<IssuerOptions> = {}): IssuerOptions {
  // As NODE_EXTRA_CA_CERTS does it for an operator.
  setDefaultCACertificates([...getCACertificates("bundled").slice(0, 1), pebble.authorityPem]);
  return {
    directoryUrl: pebble.directoryUrl,
    email,
    dir,
    httpPort: 0,
    tlsPort: 0,
    listenHost: pebble.address,
    ...parts,
  };
}

function start(t: TestContext, options: IssuerOptions, boundary: Boundary = openBoundary) {
  const random = createSeededRandom(1);
  const issuer = openIssuer(options, host, { clock: realClock, random, log: silentLog, boundary });
  const abort = new AbortController();
  const running = issuer.run(abort.signal);
  const stop = async () => {
    abort.abort();
    await running;
  };
  t.after(stop);
  return { issuer, stop };
}

for (const [kind, ports] of [
  ["http-01", ({ httpPort }: OwnPebble) => ({ httpPort })],
  ["tls-alpn-01", ({ tlsPort }: OwnPebble) => ({ tlsPort })],
] as const) {
  test(`a certificate is issued by ${kind}, and the next start shows the same one`, { skip }, async (t) => {
    const pebble = await startPebble(t, { percentRejectedNonces: 20 });
    const options = optionsOf(pebble, temporaryFolder(t), ports(pebble));
    const first = start(t, options);
    const { certificate } = await eventually("a certificate", () => {
      if (first.issuer.error) throw new Error(first.issuer.error);
      return first.issuer.current;
    });
    const leaf = new X509Certificate(certificate);
    assert.equal(leaf.checkHost(host), host);
    assert.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, "secp384r1");
    await first.stop();
    const second = start(t, { ...options, httpPort: 0, tlsPort: 0 });
    assert.equal((await eventually("the same one", () => second.issuer.current)).certificate, certificate);
    assert.deepEqual(second.issuer.counts, { issued: 0, failed: 0 });
  });
}

test("with required external account binding, an account without one gets an error and one with it a certificate", {
  skip,
}, async (t) => {
  const hmacKey = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";
  const pebble = await startPebble(t, { bindings: { "kid-1": hmacKey } });
  const options = optionsOf(pebble, temporaryFolder(t), { httpPort: pebble.httpPort });
  const unbound = start(t, options);
  const error = await eventually("a rejection", () => unbound.issuer.error);
  assert.match(error, / at .*: externalAccountRequired: /);
  await unbound.stop();
  const wrong = start(t, { ...options, dir: temporaryFolder(t), binding: { kid: "kid-1", hmacKey: "d3Jvbmc" } });
  assert.match(await eventually("a rejection", () => wrong.issuer.error), / at .*unauthorized|malformed/);
  await wrong.stop();
  const bound = start(t, { ...options, dir: temporaryFolder(t), binding: { kid: "kid-1", hmacKey } });
  await eventually("a certificate", () => bound.issuer.current);
});

test("a failed challenge is reported in the authority's words with the port to check, and ends the order", {
  skip,
}, async (t) => {
  const pebble = await startPebble(t);
  const dir = temporaryFolder(t);
  const { issuer } = start(t, optionsOf(pebble, dir, { httpPort: pebble.tlsPort }));
  const error = await eventually("a failure", () => issuer.error);
  assert.match(error, /did not find our answer to http-01 at provider.example.com, port \d+: .*connection refused/);
  assert.throws(() => readFileSync(join(dir, "orders", `${host}.json`)), { code: "ENOENT" });
  assert.deepEqual(issuer.counts, { issued: 0, failed: 1 });
});

test("cut short after the authority has issued, the next start fetches that certificate instead of ordering another", {
  skip,
}, async (t) => {
  const pebble = await startPebble(t);
  const dir = temporaryFolder(t);
  const options = optionsOf(pebble, dir, { httpPort: pebble.httpPort });
  let isOff = false;
  const boundary: Boundary = {
    cross(_, point) {
      // Where the certificate would be kept: it was fetched just before.
      isOff ||= point === `${host}:before`;
      if (isOff) throw new Error("the power is gone");
    },
  };
  const cut = start(t, options, boundary);
  await eventually("the crash", () => cut.issuer.error);
  await cut.stop();
  const order = JSON.parse(readFileSync(join(dir, "orders", `${host}.json`), "utf8")) as { key: string; url: string };
  assert.match(order.url, /^https:/);
  // New challenges fail from here on: only an order that is ready already can give a certificate.
  writeFileSync(join(dir, "orders", `${host}.attempts.json`), "{}");
  const { issuer } = start(t, { ...options, httpPort: 0 });
  const { certificate } = await eventually("the certificate", () => issuer.current);
  assert.ok(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(order.key)));
  assert.deepEqual(issuer.counts, { issued: 1, failed: 0 });
});

test("the gateway shows it for the public name, and the renewed one from the next handshake on; who is connected stays", {
  skip,
}, async (t) => {
  const pebble = await startPebble(t, { validitySeconds: 9 });
  const issuer = optionsOf(pebble, temporaryFolder(t), { httpPort: pebble.httpPort });
  const stage = await startGatewayStage(t, { gateway: { certificate: { keptIn: { namespace }, issuer } } });
  const tls = { ca: await pebble.rootPem(), rejectUnauthorized: true };
  const connect = () => connectGateway({ port: stage.port, servername: publicHost, tls });
  const shown = async () => {
    const socket = await connect().catch(() => undefined);
    const found = socket?.getPeerX509Certificate()?.serialNumber;
    socket?.destroy();
    return found;
  };
  const first = await eventually("the issued one", shown);
  const before = await connect();
  t.after(() => before.destroy());
  assert.equal((await requestOn(before, { path: "/address" })).status, 200);
  // It forgets the account too, which is registered anew with the same key.
  await pebble.stop();
  await pebble.start();
  Object.assign(tls, { ca: await pebble.rootPem() });
  const second = await eventually("the renewed one", shown);
  assert.notEqual(second, first);
  assert.equal((await requestOn(before, { path: "/address" })).status, 200);
  const own = await connectGateway({ port: stage.port, servername: `mtls.${publicHost}` });
  assert.ok(
    own.getPeerX509Certificate()?.subject.includes(stage.provider.address),
    "all other names are shown our own",
  );
  own.destroy();
});

test("the program obtains a certificate by its settings alone, and orders no other after a kill and restart", {
  skip,
}, async (t) => {
  const pebble = await startPebble(t);
  const folder = temporaryFolder(t);
  const file = (name: string) => join(folder, name);
  writeFileSync(file("authority.pem"), pebble.authorityPem);
  const chain = startProgram(t, ["chain", "--rpc-port", "0", "--grpc-port", "0", "--keys", file("keys")]);
  await chain.says(/makes blocks/);
  const listen = ["--gateway-listen-address", "127.0.0.1:0", "--gateway-grpc-listen-address", "127.0.0.1:0"];
  const account = ["--node", /RPC +(\S+)/.exec(chain.said)?.[1] ?? "", "--key-file", file("keys/provider.key")];
  const run = ["run", "--data-dir", file("data"), "--home", folder, ...listen, ...account];
  const settings = {
    AP_CLUSTER_PUBLIC_HOSTNAME: host,
    AP_CERT_ISSUER_ENABLED: "true",
    AP_CERT_ISSUER_EMAIL: email,
    AP_CERT_ISSUER_CA_DIR_URL: pebble.directoryUrl,
    AP_CERT_ISSUER_HTTP_CHALLENGE_PORT: `${pebble.httpPort}`,
    NODE_EXTRA_CA_CERTS: file("authority.pem"),
  };
  const first = startProgram(t, run, settings);
  await first.says(/serving issued certificate/);
  assert.match(first.said, /registered account at the certificate authority/);
  assert.doesNotMatch(first.said, /PRIVATE KEY/);
  first.signal("SIGKILL");
  await first.ended();
  await pebble.stop();
  const second = startProgram(t, run, settings);
  await second.says(/serving issued certificate/);
  assert.doesNotMatch(second.said, /having a certificate issued/);
  second.signal("SIGTERM");
  assert.equal(await second.ended(), 0, second.said);
});

/** What a tenant does from a shell with a provider that it has a lease of: over TLS, by the address that the chain has of it. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { certificateFilePath } from "../../src/chain/certificates/certificate-file.ts";
import { makeCertificate } from "../../src/chain/certificates/make-certificate.ts";
import { createCertificateMessage, createLease } from "../../src/chain/tx/messages.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { writeCertificateFile } from "../support/network-certificate-file.ts";
import { shop } from "../support/samples/lease-sdl.ts";
import { type CertifiedGatewayStage, startCertifiedGatewayStage } from "../support/stages/certified-gateway-stage.ts";
import type { Came, Given } from "./commands-child.ts";
import { openTerminal } from "./terminal.ts";

const sdlFile = join(import.meta.dirname, "../..", "docs", "deploy.yaml");
const sdl = readSdl(readFileSync(sdlFile, "utf8"), sdlFile);
const host = "shop.example.com";

/** What the surroundings of a tenant's shell say: a key, a certificate in the network's file, and a node. */
async function settle(t: TestContext, stage: CertifiedGatewayStage): Promise<Record<string, string>> {
  const home = temporaryFolder(t);
  const keyFile = join(home, "tenant.key");
  writeFileSync(keyFile, `${Buffer.from(stage.tenantKey).toString("hex")}\n`, { mode: 0o600 });
  const { address, signer, send } = stage.tenant;
  const life = { fromMs: Date.now() - 60_000, untilMs: Date.now() + 3_600_000 };
  const made = makeCertificate({ owner: address, hosts: [], isServer: false, serial: 7n, ...life });
  await send(createCertificateMessage(address, made));
  writeCertificateFile(certificateFilePath(home, address), made, signer);
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  return { PATH, NODE_COMPILE_CACHE, AP_NODE: stage.node.rpcUrl, AP_KEY_FILE: keyFile, AP_HOME: home };
}

async function give(env: Record<string, string>, given: readonly Given[]): Promise<Came[]> {
  const child = join(import.meta.dirname, "commands-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [child, JSON.stringify(given)], { env });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Came);
}

test("a tenant's commands find the provider by the chain, prove who they are, and show what it says", async (t) => {
  const stage = await startCertifiedGatewayStage(t, { listens: true });
  const { tenant, provider, url } = stage;
  await Promise.all([
    ...[tenant.lease(9n, sdl), leaseBoth(stage, 10n, pair)],
    ...[tenant.deployed(7n, shop({ host })), tenant.deployed(8n, shop({ host }))],
  ]);
  const env = await settle(t, stage);
  const [status, sent, refused, leased, byCertificate, service, yaml, json, moved, addresses, after, ...wrong] =
    await give(env, [
      { args: ["status", provider.address] },
      { args: ["send-manifest", sdlFile, "--dseq", "9", "-o", "json"], until: "PASS" },
      { args: ["send-manifest", sdlFile, "--dseq", "7"] },
      { args: ["lease-status"], env: { AKASH_DSEQ: "9" }, until: '"ready_replicas": 1' },
      { args: ["lease-status", "--dseq", "9", "--auth-type", "mtls"] },
      { args: ["service-status", "--dseq", "9", "--service", "web", "--provider", provider.address] },
      { args: ["get-manifest", "--dseq", "9"] },
      { args: ["get-manifest", "--dseq", "9", "-o", "json", "--provider-url", url] },
      { args: ["migrate-hostnames", host, "--dseq", "8"] },
      { args: ["migrate-endpoints", "front", "--dseq", "8"] },
      { args: ["lease-status", "--dseq", "8"], until: host },
      { args: ["service-status", "--dseq", "9", "--service", "nobody"] },
      { args: ["lease-status", "--dseq", "404"] },
      { args: ["lease-status", "--dseq", "9", "--owner", provider.address] },
      { args: ["lease-status", "--dseq", "9", "--offline", "--provider-url", url] },
      { args: ["status"], env: { AP_PROVIDER: tenant.address } },
      { args: ["status", "--provider-url", "nowhere"] },
      { args: ["send-manifest", sdlFile, "--dseq", "9", "--provider-url", "nowhere", "--provider", provider.address] },
    ]);
  assert.equal(JSON.parse(status?.said ?? "").address, provider.address);
  assert.deepEqual(JSON.parse(sent?.said ?? ""), [{ provider: provider.address, status: "PASS" }]);
  assert.match(refused?.said ?? "", /^provider: akash1\w+\n {2}status: FAIL\n {2}error: PUT https:.* 422\n/);
  assert.match(refused?.said ?? "", /^ {2}errorMessage: .*validation failed/m);
  assert.match(refused?.failure ?? "", /submit manifest to some providers has been failed/);
  assert.equal(JSON.parse(leased?.said ?? "").services.web.available, 1);
  assert.equal(byCertificate?.said, leased?.said);
  assert.deepEqual(JSON.parse(service?.said ?? ""), JSON.parse(leased?.said ?? "").services.web);
  const manifest = JSON.parse(JSON.stringify(sdl.manifest));
  assert.deepEqual([parse(yaml?.said ?? ""), JSON.parse(json?.said ?? "")], [manifest, manifest]);
  assert.deepEqual([moved, addresses], Array(2).fill({ said: "", failure: "" }));
  assert.ok(JSON.parse(after?.said ?? "").services.page.uris.includes(host));
  // One that cannot even be called is a failure among the others, which are sent theirs.
  const nowhere = wrong.pop();
  assert.match(
    nowhere?.said ?? "",
    /^provider: akash1\w+\n {2}status: FAIL\n {2}error: .*at nowhere cannot be reached/,
  );
  assert.match(nowhere?.failure ?? "", /submit manifest to some providers has been failed/);
  for (const { said } of wrong) assert.equal(said, "");
  const [nobody, unknown, foreign, offline, unregistered, noUrl] = wrong.map(({ failure }) => failure);
  assert.match(nobody ?? "", /answered with 404\nprovider error messsage:\nkube: no service for that lease\n/);
  assert.match(unknown ?? "", /akash1\w+\/404 has no active lease\n {2}→ Take a bid first/);
  assert.match(foreign ?? "", /is that of akash1\w+, not of akash1/);
  assert.match(offline ?? "", /has not proved that it is the provider: .*--offline/);
  assert.match(noUrl ?? "", /the provider at nowhere cannot be reached/);
  assert.match(unregistered ?? "", /the chain has no provider akash1/);
  await t.test("logs, events and commands in a container", () => showStreams(env, stage));
  await t.test("logs of every lease of a deployment", (below) => showAllLeases(below, env, stage));
  await t.test("a command that reads what it is given, to its end or a signal", (below) => giveInput(below, env));
  await t.test("a shell in a terminal", (below) => sitAtTerminal(below, env));
});

async function showStreams(
  env: Record<string, string>,
  { tenant, provider, url }: CertifiedGatewayStage,
): Promise<void> {
  const [logs, json, byUrl, events, told, ran, failed, lacking, noTerminal, unclosed, nothing] = await give(env, [
    { args: ["lease-logs", "--dseq", "7", "--service", "page,store"], until: "store started" },
    { args: ["lease-logs", "--dseq", "9", "-o", "json", "-t", "1", "--auth-type", "mtls"] },
    { args: ["lease-logs", "--dseq", "9", "-t", "0", "--provider", provider.address, "--provider-url", url] },
    { args: ["lease-events", "--dseq", "9"], until: '"Started"' },
    { args: ["lease-events", "--dseq", "9", "-o", "text", "--service", "web"] },
    { args: ["lease-shell", "--dseq", "9", "web", 'sh -c "echo hi; exit 3"'] },
    { args: ["lease-shell", "--dseq", "9", "web", "nothing"] },
    { args: ["lease-shell", "--dseq", "9", "--replica-index", "5", "web", "true"] },
    { args: ["lease-shell", "--dseq", "9", "--tty", "--stdin", "web", "sh"] },
    { args: ["lease-shell", "--dseq", "9", "web", 'sh -c "'] },
    { args: ["lease-logs", "--dseq", "404"] },
  ]);
  const lease = `${tenant.address}/7/1/1/${provider.address}`;
  const lines = (logs?.said ?? "").trimEnd().split("\n").toSorted();
  assert.match(lines[0] ?? "", new RegExp(`^\\[${lease}\\]\\[page-\\w+-\\w+\\] page started$`));
  assert.equal(lines[1], `[${lease}][store-0] store started`);
  const { name, ...line } = JSON.parse(json?.said ?? "");
  assert.match(name, /^web-/);
  const id = { owner: tenant.address, dseq: 9, gseq: 1, oseq: 1, provider: provider.address };
  assert.deepEqual(line, { message: "web started", lease_id: id });
  assert.deepEqual(byUrl, { said: "", failure: "" });
  const happened = (events?.said ?? "")
    .trimEnd()
    .split("\n")
    .map((each) => JSON.parse(each));
  const started = happened.find(({ reason }) => reason === "Started");
  assert.deepEqual([started.object.kind, started.lease_id], ["Pod", id]);
  assert.match(told?.said ?? "", /\[Pod\/web-\S+\] Normal Started: Started container web\n/);
  assert.deepEqual(ran, { said: "hi\n", failure: "", code: 3 });
  assert.match(failed?.failure ?? "", /^akash-provider: lease shell failed: .*does not exist/);
  assert.match(lacking?.failure ?? "", /lease shell failed: .*pod index out of range: valid range is \[0, 0\]/);
  assert.match(noTerminal?.failure ?? "", /--tty needs a terminal/);
  assert.match(unclosed?.failure ?? "", /a double quote of the command is never closed/);
  assert.match(nothing?.failure ?? "", /akash1\w+\/404 has no active lease/);
}

const expose = [{ port: 80, to: [{ global: true }] }];
/** Two services that may run at two providers. */
const pair = JSON.stringify({
  version: "2.0",
  services: { one: { image: "one:1", expose }, two: { image: "two:1", expose } },
  profiles: {
    compute: {
      small: { resources: { cpu: { units: 0.1 }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] } },
    },
    placement: {
      here: { pricing: { small: { denom: "uact", amount: 1_000 } } },
      there: { pricing: { small: { denom: "uact", amount: 1_000 } } },
    },
  },
  deployment: { one: { here: { profile: "small", count: 1 } }, two: { there: { profile: "small", count: 1 } } },
});

async function leaseBoth({ tenant, queries }: CertifiedGatewayStage, dseq: bigint, text: string): Promise<void> {
  const first = await tenant.lease(dseq, readSdl(text, "pair"));
  const second = { ...first, gseq: 2 };
  await eventually("a second bid", async () => (await queries.bid(second)).value?.state === "open");
  await tenant.send(createLease(second));
}

async function showAllLeases(t: TestContext, env: Record<string, string>, { tenant, provider }: CertifiedGatewayStage) {
  const file = join(temporaryFolder(t), "pair.yaml");
  writeFileSync(file, pair);
  const [early, , both, second] = await give(env, [
    { args: ["lease-logs", "--dseq", "10"] },
    { args: ["send-manifest", file, "--dseq", "10"], until: "PASS" },
    { args: ["lease-logs", "--dseq", "10"], until: "one started[^]*two started|two started[^]*one started" },
    { args: ["lease-logs", "--dseq", "10", "--gseq", "2"] },
  ]);
  assert.match(
    early?.failure ?? "",
    /the provider ended what it showed: there is no such lease, or nothing of it runs/,
  );
  const line = (gseq: number, service: string) =>
    new RegExp(
      `^\\[${tenant.address}/10/${gseq}/1/${provider.address}\\]\\[${service}-\\S+\\] ${service} started$`,
      "m",
    );
  assert.match(both?.said ?? "", line(1, "one"));
  assert.match(both?.said ?? "", line(2, "two"));
  assert.match(second?.said ?? "", line(2, "two"));
  assert.doesNotMatch(second?.said ?? "", /one started/);
}

async function giveInput(t: TestContext, env: Record<string, string>): Promise<void> {
  const start = () => {
    const args = ["src/cli/main.ts", "lease-shell", "--dseq", "9", "--stdin", "web", "cat"];
    const child = spawn(process.execPath, args, { env, cwd: join(import.meta.dirname, "../.."), stdio: "pipe" });
    t.after(() => void child.kill("SIGKILL"));
    return { child, said: text(child.stdout), ended: once(child, "close").then(([code]) => code) };
  };
  const [whole, cut] = [start(), start()];
  // The remote command hears of the end: it would wait for ever otherwise.
  whole.child.stdin.end("first\nlast");
  cut.child.stdin.write("first\n");
  await once(cut.child.stdout, "readable");
  cut.child.kill("SIGINT");
  assert.deepEqual([await whole.ended, await whole.said], [0, "first\nlast"]);
  assert.deepEqual([await cut.ended, await cut.said], [130, "first\n"]);
}

async function sitAtTerminal(t: TestContext, env: Record<string, string>): Promise<void> {
  const program = `"${process.execPath}" src/cli/main.ts`;
  const terminal = await openTerminal(t, `${program} lease-shell --dseq 9 --tty --stdin web /bin/sh`, env);
  await terminal.shows(/\/ # /);
  terminal.type("stty size\r");
  await terminal.shows(/\n33 99\r\n\/ # /);
  await terminal.resize({ columns: 120, rows: 40 });
  await eventually("the new size is there", async () => {
    terminal.type("stty size\r");
    await terminal.shows(/stty size\r\n\d+ \d+\r\n\/ # /);
    return /40 120/.test(terminal.said);
  });
  // It is the remote shell's, and does not end this one.
  terminal.type("exit 5\u0003hostname\r");
  await terminal.shows(/exit 5\^C\r\n\/ # hostname\r\nweb-\S+\r\n\/ # /);
  terminal.type("exit 7\r");
  assert.equal(await terminal.ended(), 7, terminal.said);
  // As it was before: a person's next line is a line again.
  assert.match(terminal.said, /\nicanon\r\n$/);
}

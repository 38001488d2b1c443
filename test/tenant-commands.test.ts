/** What a tenant does from a shell with a provider that it has a lease of: over TLS, by the address that the chain has of it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { certificateFilePath } from "../src/chain/certificates/certificate-file.ts";
import { makeCertificate } from "../src/chain/certificates/make-certificate.ts";
import { createCertificateMessage } from "../src/chain/tx/certificate-messages.ts";
import { readSdl } from "../src/market/sdl/sdl.ts";
import type { Came, Given } from "./commands-child.ts";
import { temporaryFolder } from "./folder.ts";
import { shop } from "./lease-sdl.ts";
import { writeCertificateFile } from "./network-certificate-file.ts";
import { type ProvenStage, startProvenStage } from "./proven-stage.ts";

const sdlFile = join(import.meta.dirname, "..", "docs", "deploy.yaml");
const sdl = readSdl(readFileSync(sdlFile, "utf8"), sdlFile);
const host = "shop.example.com";

async function give(t: TestContext, stage: ProvenStage, given: readonly Given[]): Promise<Came[]> {
  const home = temporaryFolder(t);
  const keyFile = join(home, "tenant.key");
  writeFileSync(keyFile, `${Buffer.from(stage.tenantKey).toString("hex")}\n`, { mode: 0o600 });
  const { address, signer, send } = stage.tenant;
  const life = { fromMs: Date.now() - 60_000, untilMs: Date.now() + 3_600_000 };
  const made = makeCertificate({ owner: address, hosts: [], isServer: false, serial: 7n, ...life });
  await send(createCertificateMessage(address, made));
  writeCertificateFile(certificateFilePath(home, address), made, signer);
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, AP_NODE: stage.node.rpcUrl, AP_KEY_FILE: keyFile, AP_HOME: home };
  const child = join(import.meta.dirname, "commands-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [child, JSON.stringify(given)], { env });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Came);
}

test("a tenant's commands find the provider by the chain, prove who they are, and show what it says", async (t) => {
  const stage = await startProvenStage(t, { listens: true });
  const { tenant, provider, url } = stage;
  await Promise.all([tenant.lease(9n, sdl), tenant.deployed(7n, shop({ host })), tenant.deployed(8n, shop({ host }))]);
  const [status, sent, refused, leased, byCertificate, service, yaml, json, moved, addresses, after, ...wrong] =
    await give(t, stage, [
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
});

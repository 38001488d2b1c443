/** The program from outside: what a person sees, what it leaves behind, and how it ends. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createEmbeddedNode } from "../../src/box/chain/embedded-node.ts";
import { parseCoins } from "../../src/market/coin.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { testKey } from "../support/chain-signing.ts";
import { createCommandRunner } from "../support/command-runner.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { fastClock, startProgram, startProvider } from "../support/program.ts";
import { redisMissing, startRedis, stoppedRedisPort } from "../support/redis-server.ts";

function kubeconfigOf(server: string, user: object): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

test("a provider without a key is rejected with what to do and exit code 2, and nothing is touched", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  const program = startProgram(t, ["run", "--data-dir", dataDir]);
  assert.equal(await program.ended(), 2, program.said);
  assert.match(program.said, /no key is named[\s\S]*→ Name one with --from .* or --key-file/);
  assert.ok(!existsSync(dataDir));
});

test("programs that this one starts do not inherit its secrets", async (t) => {
  const folder = temporaryFolder(t);
  const seen = join(folder, "environment");
  const kubeconfig = join(folder, "kubeconfig");
  const command = { command: "sh", args: ["-c", `env > ${seen}.part && mv ${seen}.part ${seen}; exit 1`] };
  const exec = { apiVersion: "client.authentication.k8s.io/v1", interactiveMode: "Never", ...command };
  writeFileSync(kubeconfig, kubeconfigOf("https://127.0.0.1:1", { exec }));
  const secrets = { AP_KEY_PASSPHRASE: "correct-horse", AKASH_REDIS_PASSWORD: "battery-staple" };
  startProgram(t, ["operator", "inventory", "--kubeconfig", kubeconfig], { ...secrets, SHOWN: "yes" });
  await eventually("the credential plugin ran", () => existsSync(seen));
  const environment = readFileSync(seen, "utf8");
  assert.match(environment, /^SHOWN=yes$/m);
  assert.doesNotMatch(environment, /correct-horse|battery-staple/);
});

test("npm start finds again what npm ci compiled: its options of V8 are those of the program, but for sizes", () => {
  const root = join(import.meta.dirname, "../..");
  const optionsIn = (line: string) => line.match(/--[a-z-]+(?==|\s)/g)?.filter((option) => !option.endsWith("-size"));
  const bin = readFileSync(join(root, "bin/akash-provider"), "utf8").trimEnd().split("\n").at(-1) ?? "";
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  assert.deepEqual(optionsIn(scripts.start), optionsIn(bin));
});

test("the first signal stops the provider in order, with exit code 0", async (t) => {
  const program = startProvider(t, ["--data-dir", join(temporaryFolder(t), "data")]);
  await program.says(/service=bus state=running/);
  program.signal("SIGTERM");
  assert.equal(await program.ended(), 0, program.said);
  assert.match(program.said, /service=bus state=done[\s\S]*service=journal state=done/);
});

test("a provider asked to stop before its cluster has answered ends promptly, with exit code 0", async (t) => {
  const folder = temporaryFolder(t);
  const accounts = [{ address: testKey("anybody").address, coins: parseCoins("1uakt") }];
  const node = createEmbeddedNode({ chainId: "silent-1", accounts, clock: realClock, log: silentLog, blockMs: 100 });
  t.after(() => node.stop());
  await node.start();
  const asked = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => {
    sockets.add(socket);
    asked.resolve();
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await once(silent.listen(0, "127.0.0.1"), "listening");
  const server = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigOf(server, { token: "t" }));
  const policies = join(folder, "policies.yaml");
  writeFileSync(policies, "caps: { cpu: 1500m }");
  const files = ["--kubeconfig", kubeconfig, "--policy-file", policies, "--data-dir", join(folder, "data")];
  const market = ["--cluster-k8s", "--bid-price-cpu-scale", "1", "--node", node.rpcUrl];
  const program = startProvider(t, [...files, ...market]);
  await Promise.race([asked.promise, program.ended()]);
  program.signal("SIGTERM");
  const ended = await Promise.race([program.ended(), setTimeout(60_000, "still running", { ref: false })]);
  assert.equal(ended, 0, program.said);
  assert.match(program.said, /service=kube state=done[\s\S]*service=journal state=done/);
});

test("metrics are served where asked for", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  const program = startProvider(t, ["--data-dir", dataDir, "--metrics-listener", "127.0.0.1:0"]);
  await program.says(/service=metrics state=running/);
  const [, port] = /metrics listening url=http:..127\.0\.0\.1:(\d+)/.exec(program.said) ?? [];
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(text, /akash_provider_event_loop_delay_seconds\{quantile="0.99"\}/);
  assert.match(text, /akash_provider_service_state\{service="journal",state="running"\} 1/);
  const second = startProvider(t, ["--data-dir", `${dataDir}2`, "--metrics-listener", `127.0.0.1:${port}`]);
  assert.equal(await second.ended(), 2);
  assert.match(second.said, new RegExp(`cannot listen on 127.0.0.1:${port}.*\n  → .*--metrics-listener`));
});

test("a condition is posted to the address that was given, which is said nowhere", async (t) => {
  const received: { readonly path: string; readonly authorization: string; readonly body: Record<string, string> }[] =
    [];
  const receiver = createHttpServer(async (request, response) => {
    const { url: path = "", headers } = request;
    received.push({ path, authorization: headers.authorization ?? "", body: JSON.parse(await text(request)) });
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  t.after(() => receiver.close());
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  const url = `http://bot:50%off@127.0.0.1:${port}/hidden-word`;
  const program = startProvider(t, ["--data-dir", join(temporaryFolder(t), "data"), "--notify-url", url], fastClock);
  await eventually("the condition that no node answers is posted", () => received.length > 0);
  const [{ path, authorization, body: { type, condition, provider } = {} } = {}] = received;
  assert.deepEqual([path, type, condition], ["/hidden-word", "raised", "ChainTrouble"]);
  assert.equal(authorization, `Basic ${Buffer.from("bot:50%off").toString("base64")}`);
  assert.match(provider ?? "", /^akash1/);
  program.signal("SIGTERM");
  assert.equal(await program.ended(), 0, program.said);
  assert.equal(received.length, 1, "an end is no news of what was wrong");
  assert.match(program.said, /condition raised/);
  assert.doesNotMatch(program.said, /hidden-word|50%off/);
});

const refused: { name: string; args?: string[]; env?: Record<string, string>; yaml?: string; says: RegExp[] }[] = [
  { name: "an unknown flag", args: ["--bid-timout", "5m"], says: [/--bid-timout/, /--bid-timeout/] },
  { name: "an invalid variable", env: { AP_BID_TIMEOUT: "soon" }, says: [/AP_BID_TIMEOUT/, /5m/] },
  {
    name: "an unknown key in provider.yaml",
    yaml: "host: https://provider.example.com\nbidpricecpuscal: 1.0\n",
    says: [/provider\.yaml:2/, /bidpricecpuscale/],
  },
  { name: "a wrong unit", args: ["--bid-timeout", "5"], says: [/bid-timeout/, /5m/] },
  { name: "a bad YAML", yaml: "attributes: [\n", says: [/provider\.yaml:\d+:\d+/, /YAML/] },
  {
    name: "several faults, all told at once",
    args: ["--bid-timeout", "5", "--ingress-mode", "nginx"],
    says: [/bid-timeout/, /ingress-mode/],
  },
];

const giveCommand = createCommandRunner({ after });

for (const { name, args = [], env = {}, yaml, says } of refused) {
  test(`${name} is rejected with what to do and exit code 2, and nothing is touched`, async (t) => {
    const folder = temporaryFolder(t);
    const dataDir = join(folder, "data");
    const file = join(folder, "provider.yaml");
    if (yaml !== undefined) writeFileSync(file, yaml);
    const fileArgs = yaml === undefined ? [] : ["--provider-config", file];
    const { code, stderr } = await giveCommand(["run", "--data-dir", dataDir, ...fileArgs, ...args], env);
    assert.equal(code, 2, stderr);
    for (const pattern of says) assert.match(stderr, pattern);
    assert.ok(!existsSync(dataDir));
  });
}

test("a restart with an invalid provider.yaml uses its last good content, and diagnostics need the data directory only", async (t) => {
  const folder = temporaryFolder(t);
  const [dataDir, file] = [join(folder, "data"), join(folder, "provider.yaml")];
  const args = ["--data-dir", dataDir, "--provider-config", file];
  writeFileSync(file, "host: https://provider.example.com\n");
  const first = startProvider(t, args);
  await first.says(/service=settings state=running/);
  first.signal("SIGTERM");
  assert.equal(await first.ended(), 0, first.said);

  writeFileSync(file, "host: https://provider.example.com\nprice_target_cpu: lots\n");
  const second = startProvider(t, args, fastClock);
  await second.says(/ERROR .*provider\.yaml is invalid; starting with its last good content.*price_target_cpu/);
  const conditions = () =>
    giveCommand(["conditions"], { AP_DATA_DIR: dataDir, AP_PROVIDER_CONFIG: file, AP_BID_TIMEOUT: "soon" });
  await eventually("the condition is listed", async () =>
    /^SettingsFileInvalid .*\n {2}.*price_target_cpu/m.test((await conditions()).stdout),
  );
  writeFileSync(file, "host: https://provider.example.com\nprice_target_cpu: 2\n");
  await eventually("the condition is cleared", async () => !/SettingsFileInvalid/.test((await conditions()).stdout));
  second.signal("SIGTERM");
  assert.equal(await second.ended(), 0, second.said);
});

test("Redis absent at start is said once, the provider runs, and connects when it appears", {
  skip: redisMissing,
}, async (t) => {
  const port = await stoppedRedisPort(t);
  const dataDir = join(temporaryFolder(t), "data");
  const program = startProvider(t, ["--data-dir", dataDir, "--redis-url", `redis://127.0.0.1:${port}`]);
  await program.says(/Redis .* cannot be reached/);
  await program.says(/service=bus state=running/);
  await startRedis(t, { port });
  await program.says(/connected/);
  assert.equal(program.said.match(/Redis .* cannot be reached/g)?.length, 1);
  program.signal("SIGTERM");
  assert.equal(await program.ended(), 0, program.said);
});

test("config print shows each value and where it came from, and no secret", async (t) => {
  const args = ["config", "print", "--bid-timeout", "7m"];
  const program = startProgram(t, args, { AKASH_MANIFEST_TIMEOUT: "9m", AP_REDIS_PASSWORD: "correct-horse-battery" });
  assert.equal(await program.ended(), 0, program.said);
  assert.match(program.said, /bid-timeout +7m +flag --bid-timeout/);
  assert.match(program.said, /manifest-timeout +9m +environment AKASH_MANIFEST_TIMEOUT/);
  assert.match(program.said, /withdrawal-period +24h +default/);
  assert.doesNotMatch(program.said, /correct-horse/);
});

test("help names every command and how to begin", async (t) => {
  const program = startProgram(t, ["--help"]);
  assert.equal(await program.ended(), 0);
  for (const word of [
    "demo",
    "run",
    "orders",
    "why",
    "leases",
    "earnings",
    "screen",
    "pause",
    "resume",
    "config",
    "register",
    "chain",
    "events",
    "tenant",
    "lease-logs",
    "lease-events",
    "lease-shell",
  ])
    assert.match(program.said, new RegExp(`^  ${word} `, "m"));
});

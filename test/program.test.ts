/** The program from outside: what a person sees, what it leaves behind, and how it ends. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createEmbeddedNode } from "../src/box/chain/embedded-node.ts";
import { parseCoins } from "../src/market/coin.ts";
import { realClock } from "../src/runtime/clock.ts";
import { providerV1Status } from "../src/runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../src/runtime/grpc/grpc-status.ts";
import { silentLog } from "../src/runtime/log.ts";
import { testKey } from "./chain-signing.ts";
import { eventually } from "./eventually.ts";
import { temporaryFolder } from "./folder.ts";
import { takeCommands } from "./given-commands.ts";
import { openGrpcClient } from "./grpc-client.ts";
import type { Owner } from "./owner.ts";
import { type Program, startProgram } from "./program.ts";
import { freePort, redisMissing, startRedis } from "./redis-server.ts";
import { openShell } from "./shell.ts";
import { cannotMount, fillUp, mountDisk } from "./small-disk.ts";
import { openTerminal } from "./terminal.ts";

/**
 * What the demo says from beginning to end. Its blocks, tenants and provider live by the real clock: where a machine has no
 * time for them their stories may end otherwise, but then it also says that the chain did not answer in time.
 */
async function tellDemo(t: TestContext, tries = 3): Promise<string> {
  const folder = temporaryFolder(t);
  const program = startProgram(t, ["demo", "--stories", "9"], { TMPDIR: folder });
  assert.equal(await program.ended(), 0, program.said);
  assert.deepEqual(readdirSync(folder), []);
  return tries > 1 && /no answer within/.test(program.said) ? tellDemo(t, tries - 1) : program.said;
}

/** What the demo tells a person to type, without the margin. */
function pastedLines(said: string): string[] {
  const [, lines = ""] = /from another terminal:\n((?: {2}.*\n)+)/.exec(said) ?? [];
  return lines
    .trimEnd()
    .split("\n")
    .map((line) => line.slice(2));
}

/** In a terminal, where the other lines were pasted too. */
async function lookAround(t: TestContext, lines: string): Promise<void> {
  const { NODE_COMPILE_CACHE = "" } = process.env;
  const terminal = await openTerminal(t, lines, { NODE_COMPILE_CACHE, HOME: "/nonexistent" });
  await terminal.shows(/\/ # /);
  terminal.type("hostname\rexit 3\r");
  await terminal.shows(/\nweb-\S+\r\n/);
  assert.equal(await terminal.ended(), 3, terminal.said);
}

/** Each line as it was printed; one for which it is too early is typed again, as a person does. */
async function deployFromAnotherTerminal(t: TestContext, lines: readonly string[]): Promise<void> {
  const shell = openShell(t);
  const shows = async (pattern: RegExp, line = "") => {
    await eventually(`${line} shows ${pattern}`, async () => pattern.test((await shell.paste(line)).said), 60_000);
  };
  const [settings, create, lease, send, status, knock, logs, enter, close, curl, ...rest] = lines;
  assert.deepEqual(await shell.paste(settings ?? ""), { said: "\n", code: 0 });
  await shows(/^created akash1\w+\/\d+ {2}block/m, create);
  await shows(/^leased akash1.* from akash1/m, lease);
  await shows(/status: PASS/, send);
  await shows(/"ready_replicas": 1/, status);
  await shows(/^nginx:1\.27 in pod web-\S+ was asked for \/$/m, knock);
  await shows(/^\[akash1.*\]\[web-\S+\] web: listening on port 80$/m, logs);
  const { said: dseq } = await shell.paste("echo $AP_DSEQ");
  await lookAround(t, `${settings}; AP_DSEQ=${dseq.trim()}; ${enter}`);
  await shows(/^closed akash1/m, close);
  await shows(/"cluster":\{"leases":/, curl);
  const { said: address } = await shell.paste("echo $GRPC");
  const grpc = openGrpcClient(t, `https://${address.trim()}`, { rejectUnauthorized: false });
  const told = await grpc.call("/akash.provider.v1.ProviderRPC/GetStatus");
  assert.equal(told.status, grpcCodes.OK, told.words);
  assert.deepEqual(providerV1Status.decode(told.message).publicHostnames, ["127.0.0.1"]);
  assert.deepEqual(rest, []);
}

test("the demo takes what a person deploys from another terminal", async (t) => {
  // Without an end of its own: a person takes his time, and on a busy machine a lot of it.
  const program = startProgram(t, ["demo"], { TMPDIR: temporaryFolder(t) });
  await program.says(/^or ask it/m);
  await deployFromAnotherTerminal(t, pastedLines(program.said));
  program.signal("SIGINT");
  assert.equal(await program.ended(), 0, program.said);
});

test("the demo tells its stories and leaves nothing behind", async (t) => {
  const said = await tellDemo(t);
  // One yes that nobody else can undercut, which runs and is updated, and one no.
  assert.match(
    said,
    /database \(100Gi beta3 4 cpu 16Gi\): bid [\d.]+uact; 1 bids, leased for [\d.]+uact .*, manifest updated: won\n/,
  );
  assert.match(said, /premium \(2 cpu 4Gi\): no: attributesMatch: we do not publish tier=premium; 0 bids/);
  // One who sends another manifest than it promised, and one who sends none.
  assert.match(said, /liar .*, manifest refused: manifest version validation failed: refused\n/);
  assert.match(said, /silent .*leased for [\d.]+uact a block: no manifest\n/);
  // One whose escrow is spent while it runs: only a settling withdrawal of ours ends that, and it brings all there was.
  assert.match(said, /training \(7 h100 .*leased for \d+[\d.]+uact a block, manifest taken: out of funds\n/);
  // One whose image nobody has: it is told so, and mends it.
  assert.match(said, /typo .*, manifest updated after main: ImageError: .*example\/typo:lastest.*: won\n/);
  // One that has an address of its own.
  assert.match(said, /address \(ip .*\): bid .*, manifest taken: won\n/);
  assert.match(said, /leased port written service=\S+\/main-ip-80-tcp /);
  const summary =
    /9 stories complete \((\d) won, .*, 1 refused, 1 no manifest, 1 out of funds\), \d+ blocks, \d+ transactions landed, 0 failed, 4 nodes offered, 0 messages dropped, (\d+) requests by token, (\d+) by certificate, left 0 namespaces, 0 reservations, 0 manifests; wallet ([\d.]+) ACT and ([\d.]+) AKT, earned ([\d.]+) ACT, withdrawn ([\d.]+) ACT, owed 0, deposits out 0, fees ([\d.]+) AKT\n/;
  const [, won, byToken, byCertificate, dollars, tokens, earned, withdrawn, fees] = summary.exec(said) ?? [];
  assert.ok(Number(won) >= 1, said);
  // A tenant has no other way to a provider than its gateway: its manifest, an update, and what it saw of them.
  assert.ok(Number(byToken) > 3 && Number(byCertificate) > 3, said);
  // The whole of that deposit, and what the others earned until they were closed. The books explain the wallet, in which
  // there were 1000 of each: to the last millionth.
  assert.ok(millionths(earned) > 500_000n && earned === withdrawn && millionths(fees) > 0n, said);
  assert.equal(millionths(dollars), 1_000_000_000n + millionths(withdrawn), said);
  assert.equal(millionths(tokens), 1_000_000_000n - millionths(fees), said);
  // A machine that is busy during all tries keeps the node from answering in time; everything above held nevertheless.
  const complaints = said.split("\n").filter((line) => / (WARN|ERROR) /.test(line) && !/no answer within/.test(line));
  assert.deepEqual(complaints, []);
});

/** "1000.5" of a token. */
function millionths(tokens = ""): bigint {
  const [whole = "", fraction = ""] = tokens.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}

/** A provider with a key, whose chain cannot be reached: it waits for that, and all else is there. */
function startProvider(owner: Owner, args: readonly string[]): Program {
  const keyFile = join(temporaryFolder(owner), "provider.key");
  writeFileSync(keyFile, `${"11".repeat(32)}\n`, { mode: 0o600 });
  return startProgram(owner, ["run", "--key-file", keyFile, "--node", "http://127.0.0.1:1", ...args]);
}

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

test("a provider without a key is refused with what to do and exit code 2, and nothing is touched", async (t) => {
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
  const root = join(import.meta.dirname, "..");
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
  const port = await freePort();
  const dataDir = join(temporaryFolder(t), "data");
  const program = startProvider(t, ["--data-dir", dataDir, "--metrics-listener", `127.0.0.1:${port}`]);
  await program.says(/service=metrics state=running/);
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
  const program = startProvider(t, ["--data-dir", join(temporaryFolder(t), "data"), "--notify-url", url]);
  // Twenty seconds of the real clock, and a start.
  await eventually("it is told that no node answers", () => received.length > 0, 120_000);
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
  { name: "an unknown variable", env: { AP_BID_TIMOUT: "5m" }, says: [/AP_BID_TIMOUT/, /AP_BID_TIMEOUT/] },
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

const giveCommand = takeCommands({ after });

for (const { name, args = [], env = {}, yaml, says } of refused) {
  test(`${name} is refused with what to do and exit code 2, and nothing is touched`, async (t) => {
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

test("a data directory that cannot be made is refused with its path and exit code 3", async (t) => {
  const file = join(temporaryFolder(t), "file");
  writeFileSync(file, "in the way");
  const program = startProvider(t, ["--data-dir", join(file, "data")]);
  assert.equal(await program.ended(), 3, program.said);
  assert.match(program.said, /data directory .*file\/data cannot be written[\s\S]*--data-dir/);
  assert.equal(readFileSync(file, "utf8"), "in the way");
});

test("a second provider on the same data directory is refused and told who holds it", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  const first = startProvider(t, ["--data-dir", dataDir]);
  await first.says(/service=bus state=running/);
  const second = startProvider(t, ["--data-dir", dataDir]);
  assert.equal(await second.ended(), 3, second.said);
  assert.match(second.said, /another akash-provider already uses .*process \d+ on/);
  first.signal("SIGTERM");
  assert.equal(await first.ended(), 0);
});

test("a provider that was killed leaves its socket, and the next one takes its place", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  const socket = join(dataDir, "control.sock");
  const first = startProvider(t, ["--data-dir", dataDir]);
  await first.says(/service=control state=running/);
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  first.signal("SIGKILL");
  assert.equal(await first.ended(), "SIGKILL");
  assert.ok(statSync(socket).isSocket());
  const second = startProvider(t, ["--data-dir", dataDir]);
  await second.says(/service=control state=running/);
  // It has no cluster and bids on nothing; the journal can be read all the same.
  const asked = startProgram(t, ["orders", "--data-dir", dataDir]);
  assert.equal(await asked.ended(), 0, asked.said);
  assert.match(asked.said, /has no answer to orders.*; this is from its journal\nno order has been seen yet/);
  second.signal("SIGTERM");
  assert.equal(await second.ended(), 0);
  assert.ok(!existsSync(socket));
});

test("a damaged journal is set aside and reported, and the start goes on", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, "journal.db"), "this is no database");
  const program = startProvider(t, ["--data-dir", dataDir]);
  await program.says(/service=bus state=running/);
  assert.match(program.said, /was damaged .* set aside as .*journal\.damaged-/);
  const kept = readdirSync(dataDir).find((name) => name.startsWith("journal.damaged-")) ?? "";
  assert.equal(readFileSync(join(dataDir, kept), "utf8"), "this is no database");
  program.signal("SIGINT");
  assert.equal(await program.ended(), 0);
});

test("a full disk ends the start with what to do and exit code 3, and loses nothing", {
  skip: cannotMount,
}, async (t) => {
  const disk = mountDisk(t);
  fillUp(disk);
  const program = startProvider(t, ["--data-dir", join(disk, "data")]);
  assert.equal(await program.ended(), 3, program.said);
  assert.match(program.said, /the disk that holds .* is full\n {2}→ Free some room/);
});

test("Redis absent at start is said once, the provider runs, and connects when it appears", {
  skip: redisMissing,
}, async (t) => {
  const port = await freePort();
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

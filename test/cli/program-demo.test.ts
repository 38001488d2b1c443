/** The demo from outside: what it prints, what works from a second terminal, and what it leaves behind. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { providerV1Status } from "../../src/runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../../src/runtime/grpc/grpc-status.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import { fastClock, startProgram } from "../support/program.ts";
import { quickTest, thorough } from "../support/thorough.ts";
import { openShell } from "./shell.ts";
import { openTerminal } from "./terminal.ts";

/** What the demo says from beginning to end. */
async function tellDemo(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  const program = startProgram(t, ["demo", "--stories", "9"], { ...fastClock, TMPDIR: folder });
  assert.equal(await program.ended(), 0, program.said);
  assert.deepEqual(readdirSync(folder), []);
  return program.said;
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

/** Each line as it was printed; one that shows a service is typed again until the service runs. */
async function deployFromAnotherTerminal(t: TestContext, lines: readonly string[]): Promise<void> {
  const shell = openShell(t);
  const shows = async (pattern: RegExp, line = "") => {
    await eventually(`${line} shows ${pattern}`, async () => pattern.test((await shell.paste(line)).said), 60_000);
  };
  const [settings, create, lease, send, status, knock, logs, enter, close, curl, ...rest] = lines;
  assert.deepEqual(await shell.paste(settings ?? ""), { said: "\n", code: 0 });
  assert.match((await shell.paste(create ?? "")).said, /^created akash1\w+\/\d+ {2}block/m);
  assert.match((await shell.paste(lease ?? "")).said, /^leased akash1.* from akash1/m);
  assert.match((await shell.paste(send ?? "")).said, /status: PASS/);
  await shows(/"ready_replicas": 1/, status);
  await shows(/^nginx:1\.27 in pod web-\S+ received \/$/m, knock);
  // Its first lines are soon followed by more than --tail shows.
  await shows(/^\[akash1.*\]\[web-\S+\] \S/m, logs);
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

// It starts a process for each command, and a person needs the real clock.
if (thorough)
  test("the demo takes what a person deploys from another terminal", async (t) => {
    // Without an end of its own: a person takes his time, and on a busy machine a lot of it.
    const program = startProgram(t, ["demo"], { TMPDIR: temporaryFolder(t) });
    await program.says(/^or ask it/m);
    await deployFromAnotherTerminal(t, pastedLines(program.said));
    program.signal("SIGINT");
    assert.equal(await program.ended(), 0, program.said);
  });

quickTest("the demo tells its stories and leaves nothing behind", async (t) => {
  const said = await tellDemo(t);
  // One yes that nobody else can undercut, which runs and is updated, and one no.
  assert.match(
    said,
    /database \(100Gi beta3 4 cpu 16Gi\): bid [\d.]+uact; 1 bids, leased for [\d.]+uact .*, manifest updated: won\n/,
  );
  assert.match(said, /premium \(2 cpu 4Gi\): no: attributesMatch: we do not publish tier=premium; 0 bids/);
  // One who sends another manifest than it promised, and one who sends none.
  assert.match(said, /liar .*, manifest rejected: manifest version validation failed: rejected\n/);
  assert.match(said, /silent .*leased for [\d.]+uact a block: no manifest\n/);
  // One whose escrow is spent while it runs: only a settling withdrawal of ours ends that, and it brings all there was.
  assert.match(said, /training \(7 h100 .*leased for \d+[\d.]+uact a block, manifest accepted: out of funds\n/);
  // One whose image nobody has: it is told so, and fixes it.
  assert.match(said, /typo .*, manifest updated after main: ImageError: .*example\/typo:lastest.*: won\n/);
  // One that has an address of its own.
  assert.match(said, /address \(ip .*\): bid .*, manifest accepted: won\n/);
  assert.match(said, /leased port written service=\S+\/main-ip-80-tcp /);
  const summary =
    /9 stories complete \((\d) won, .*, 1 rejected, 1 no manifest, 1 out of funds\), \d+ blocks, \d+ transactions landed, 0 failed, 4 nodes offered, 0 messages dropped, (\d+) requests by token, (\d+) by certificate, left 0 namespaces, 0 reservations, 0 manifests; wallet ([\d.]+) ACT and ([\d.]+) AKT, earned ([\d.]+) ACT, withdrawn ([\d.]+) ACT, owed 0, deposits out 0, fees ([\d.]+) AKT\n/;
  const [, won, byToken, byCertificate, dollars, tokens, earned, withdrawn, fees] = summary.exec(said) ?? [];
  assert.ok(Number(won) >= 1, said);
  // A tenant has no other way to a provider than its gateway: its manifest, an update, and what it saw of them.
  assert.ok(Number(byToken) > 3 && Number(byCertificate) > 3, said);
  // The whole of that deposit, and what the others earned until they were closed. The books explain the wallet, in which
  // there were 1000 of each: to the last millionth.
  assert.ok(millionths(earned) > 500_000n && earned === withdrawn && millionths(fees) > 0n, said);
  assert.equal(millionths(dollars), 1_000_000_000n + millionths(withdrawn), said);
  assert.equal(millionths(tokens), 1_000_000_000n - millionths(fees), said);
  assert.doesNotMatch(said, / (WARN|ERROR) /);
});

/** "1000.5" of a token. */
function millionths(tokens = ""): bigint {
  const [whole = "", fraction = ""] = tokens.split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
}

/** Operators' commands: over the control socket while the provider runs, else from its journal. */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { JsonOf, PauseResponse, ScreenResponse } from "../../src/bidengine/control-handlers.ts";
import { readDecision } from "../../src/bidengine/decision/record.ts";
import { describeFailure } from "../../src/cli/fail.ts";
import { timeIn } from "../../src/cli/pause.ts";
import { soundSdlText } from "../../src/cli/sdl.ts";
import { formatLeaseId, parseOrderId } from "../../src/market/ids.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { requestControl } from "../../src/runtime/control/control-client.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type LiveProvider, runCommand, startLiveProvider } from "../support/live-provider.ts";
import type { Owner } from "../support/owner.ts";
import { startProgram } from "../support/program.ts";
import { sampleExpose, sampleService } from "../support/samples/lease-samples.ts";
import { groupOfCpus, smallGroup } from "../support/stages/bid-stage.ts";

const endings: (() => void | Promise<void>)[] = [];
const owner: Owner = { after: (end) => void endings.unshift(end) };
after(async () => {
  for (const end of endings) await end();
});

const sdl = readFileSync(join(import.meta.dirname, "../..", "docs", "deploy.yaml"), "utf8");
const controlSigns = /[\p{Cc}\p{Cf}]/u;

describe("a provider that bids", { concurrency: false }, () => {
  const folder = temporaryFolder(owner);
  let provider: LiveProvider;
  let small: string | undefined;
  let large: string | undefined;
  let hostile: string | undefined;
  const at = () => ["--data-dir", provider.dataDir];
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const query = async <T>(about: string, question: Record<string, unknown>) =>
    (await requestControl({ dataDir: provider.dataDir, name: about, params: question, clock: realClock })) as JsonOf<T>;

  before(async () => {
    provider = await startLiveProvider(owner);
    const attributes = [{ key: "region", value: "\u001b[2J\u202eevil\n✗ forged" }];
    const strange = { ...smallGroup, name: "strange", requirements: { attributes, allOf: [], anyOf: [] } };
    [small, large, hostile] = await provider.post(1n, smallGroup, { ...groupOfCpus(11_000n), name: "large" }, strange);
  });

  test("orders lists verdict, price and reason, newest last", async () => {
    const { code, stdout } = await runCommand("orders", ...at());
    assert.equal(code, 0);
    const [heading, ...rows] = stdout.trimEnd().split("\n");
    assert.match(heading ?? "", /^ORDER +AGE +VERDICT +PRICE +OUTCOME$/);
    const row = (id: string | undefined) => rows.find((each) => each.startsWith(`${id} `)) ?? "";
    assert.match(row(small), /^\S+ +\d+s {2}bid +10uact +bid/);
    assert.match(row(large), /^\S+ +\d+s {2}no +placementExists: unit 1: no node has 11 of cpu free/);
    assert.match(row(hostile), /^\S+ +\d+s {2}no +attributesMatch: /);
    assert.ok(rows.every((each) => !controlSigns.test(each)));
  });

  test("orders --follow prints new orders until Ctrl-C", async (t) => {
    const following = startProgram(t, ["orders", "--follow", "--json", "--limit", "9", ...at()]);
    await following.says(new RegExp(`${hostile}`));
    const [fresh] = await provider.post(4n, groupOfCpus(12_000n));
    await following.says(new RegExp(`${fresh}.*"verdict":"no"`));
    assert.ok(!controlSigns.test(following.said.replaceAll("\n", "")));
    following.signal("SIGINT");
    assert.equal(await following.ended(), 0);
  });

  test("screen reports the price of the later bid", async () => {
    const answer = await query<ScreenResponse>("screen", { sdl, owner: provider.tenant });
    assert.deepEqual(
      answer.groups.map(({ decision }) => [decision["verdict"], decision["price"]]),
      [["bid", "10uact"]],
    );
  });

  test("screen that fails → the missing resources, exit code 2", async () => {
    const path = file("large.yaml", sdl.replace(/units: \S+/, "units: 200"));
    const { code, stdout } = await runCommand("screen", path, "--owner", provider.tenant, ...at());
    assert.equal(code, 2);
    assert.match(stdout, /✗ placementExists +unit 1: no node has 200 of cpu free/);
    assert.match(stdout, /to bid on it:\n {2}insufficient capacity/);
  });

  const auditor = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
  const volume = "{ name: data, size: 1Gi, attributes: { persistent: true, class: beta2 } }";
  const mount = "params: { storage: { data: { mount: /data } } }";
  /** The additional demand, the replacements in the SDL, and the checks that fail. */
  const rejectedSdls: { wants: string; change: [string, string][]; fails: string[] }[] = [
    { wants: "more than any node has", change: [["units: 0.5", "units: 200"]], fails: ["placementExists"] },
    {
      wants: "an attribute that we do not publish",
      change: [["box:\n", "box:\n      attributes: { region: moon }\n"]],
      fails: ["attributesMatch"],
    },
    {
      wants: "the signature of an auditor",
      change: [["box:\n", `box:\n      signedBy: { allOf: [${auditor}] }\n`]],
      fails: ["auditorsMatch"],
    },
    {
      wants: "a class of storage that we do not have",
      change: [
        ["storage: { size: 512Mi }", `storage: [{ size: 512Mi }, ${volume}]`],
        ["image: nginx:1.27", `image: nginx:1.27\n    ${mount}`],
      ],
      fails: ["capabilitiesMatch", "placementExists"],
    },
    {
      wants: "an address of its own",
      change: [
        ["- global: true", "- global: true\n            ip: mine"],
        ["profiles:", "endpoints: { mine: { kind: ip } }\nprofiles:"],
        ['"2.0"', '"2.1"'],
      ],
      fails: ["addressesAvailable"],
    },
    {
      wants: "notice before a reclamation",
      change: [
        ["profiles:", "reclamation: { min_window: 24h }\nprofiles:"],
        ['"2.0"', '"2.1"'],
      ],
      fails: ["reclamationAgreed"],
    },
    { wants: "to pay too little", change: [["amount: 1000", "amount: 1"]], fails: ["priceWithinMax"] },
  ];
  for (const { wants, change, fails } of rejectedSdls) {
    test(`SDL with ${wants} → screened with it`, async () => {
      const changed = change.reduce((text, [from, to]) => text.replace(from, to), sdl);
      const { groups } = await query<ScreenResponse>("screen", { sdl: changed, owner: provider.tenant });
      const { checks } = readDecision(groups[0]?.decision);
      const failed = checks.filter(({ verdict }) => verdict === "fail");
      assert.deepEqual(
        failed.map(({ name }) => name),
        fails,
      );
    });
  }

  test("policies explains a file and lists orders and manifests that it would reject, without changing anything", async () => {
    const rules = 'images: { refuse: ["*miner*"] }\nhostnames: { refuse: ["*.bank.example"], dry-run: true }\n';
    const path = file(
      "policies.yaml",
      `tenants: { refuse: [${provider.tenant}], dry-run: true }\ncaps: { cpu: 8 }\n${rules}`,
    );
    const expose = [{ ...sampleExpose, hosts: ["a.bank.example"] }];
    const services = [sampleService({ image: "x/miner:1", env: ["PASSWORD=correct-horse"], expose })];
    const { running } = provider;
    // Of a tenant whom the policy permits.
    const order = { ...parseOrderId(large ?? ""), owner: running.signer.address };
    const leaseId = formatLeaseId(running.bidOn(order));
    await running.journal.durable("test", ({ manifests }) =>
      manifests.put({ leaseId, version: "00", body: JSON.stringify([{ name: "dc", services }]) }),
    );
    const { code, stdout } = await runCommand("policies", "--check", path, "--json", ...at());
    await running.journal.durable("test", ({ manifests }) => manifests.remove(leaseId));
    assert.equal(code, 0);
    const { means, refused, judged, judgedManifests, refusedManifests } = JSON.parse(stdout);
    const reasons = [
      'image "x/miner:1" is rejected by the policy',
      'dry run: "a.bank.example" is blocked by this provider',
    ];
    assert.deepEqual([judgedManifests, refusedManifests], [1, [{ leaseId, reasons }]]);
    assert.ok(!stdout.includes("correct-horse"));
    assert.match(means.join(), /These tenants are rejected: .*dry-run.*At most 8 of cpu is sold in all/);
    const about = (id: string | undefined) =>
      refused.find(({ orderId }: { orderId: string }) => orderId === id)?.reasons;
    assert.deepEqual([refused.length, about(small)], [judged, ["dry run: the tenant is rejected by the policy"]]);
    assert.match(about(large)[1], /^the policy offers less than 11 of cpu/);
  });

  test("invalid SDL file → rejected without a request; huge file → rejected for its size", () => {
    const rejectionOf = (path: string) => {
      try {
        return soundSdlText(path);
      } catch (thrown) {
        return describeFailure(thrown).text;
      }
    };
    const huge = file("huge.yaml", `version: "2.0"\n${"a: b\n".repeat(2_000_000)}`);
    assert.match(rejectionOf(huge), /huge\.yaml is not a deployment that can be posted:\n.*10000015 characters/);
    const strange = file("strange.yaml", sdl.replaceAll("web", '"\\e[2J"'));
    assert.match(rejectionOf(strange), /service "\\x1b\[2J" name is invalid/);
    assert.ok(!controlSigns.test(rejectionOf(strange).replaceAll("\n", "")));
    assert.match(rejectionOf(join(folder, "nothing")), /no such file/);
  });

  test("pause survives a restart, dry run changes nothing", async () => {
    const paused = () => provider.running.engine.paused?.reason;
    const dryRun = await query<PauseResponse>("pause", { reason: "new disks", dryRun: true });
    assert.deepEqual(dryRun, { dryRun: true, after: { reason: "new disks" } });
    assert.equal(paused(), undefined);
    assert.match(
      (await runCommand("pause", "--reason", "new disks", ...at())).stdout,
      /^bidding is paused \(new disks\)/,
    );
    await provider.restart();
    assert.equal(paused(), "new disks");
    const { groups } = await query<ScreenResponse>("screen", { sdl, owner: provider.tenant });
    assert.match(JSON.stringify(groups[0]?.decision), /new disks/);
    const dry = await query<PauseResponse>("resume", { dryRun: true });
    assert.deepEqual([dry.before?.reason, paused()], ["new disks", "new disks"]);
    assert.match(
      (await runCommand("resume", ...at())).stdout,
      /^bidding goes on; .*\nit was paused at .* \(new disks\)/,
    );
    assert.equal(paused(), undefined);
    assert.deepEqual(await query<PauseResponse>("resume", {}), { dryRun: false });
  });

  test("pause --from takes a future time with its zone, or a duration", async () => {
    const nowMs = Date.UTC(2026, 10, 16);
    for (const from of ["yesterday", "2026-12-01", "2026-12-01T22:00", "2020-01-01T00:00:00Z", "-1h", "5", ""])
      assert.throws(() => timeIn(from, nowMs), { code: "AKP_VALUE_MALFORMED" }, from);
    assert.equal(timeIn("90m", nowMs), nowMs + 5_400_000);
    assert.equal(timeIn("2026-11-17T01:00:00+01:00", nowMs), nowMs + 86_400_000);
    const { after } = await query<PauseResponse>("pause", { reason: "x", fromMs: 4e12, dryRun: true });
    assert.deepEqual(after, { reason: "x", fromMs: 4e12 });
  });

  test("invalid query → rejected with the reason", async () => {
    await assert.rejects(query("orders", { limit: 0 }), { code: "AKP_QUESTION_REFUSED" });
    await assert.rejects(query("orders", { limit: "all" }), { code: "AKP_QUESTION_REFUSED" });
    await assert.rejects(query("why", { id: "x".repeat(1_000) }), { code: "AKP_QUESTION_REFUSED" });
    await assert.rejects(query("screen", { sdl: "{", owner: "" }), { code: "AKP_SDL_REFUSED" });
    await assert.rejects(query("pause", { reason: "x".repeat(1_000) }), { code: "AKP_QUESTION_REFUSED" });
  });

  test("unknown order and pruned order → different messages, exit code 1", async () => {
    const { code, stderr } = await runCommand("why", `${provider.tenant}/999`, ...at());
    assert.equal(code, 1);
    assert.match(stderr, /no order .*\/999 is known; the oldest order that is remembered was seen \d{4}-/);
  });

  test("socket is accessible to its user only", () => {
    assert.equal(statSync(join(provider.dataDir, "control.sock")).mode & 0o777, 0o600);
  });

  test("why prints the same from the socket and, after a stop, from the journal", async (t) => {
    await provider.accept(provider.running.bidOn(parseOrderId(small ?? "")));
    await eventually("it is won", () => provider.running.engine.orders(9).some(({ outcome }) => outcome === "won"));
    const following = startProgram(t, ["orders", "--follow", ...at()]);
    await following.says(new RegExp(`${hostile}`));
    const why = () => runCommand("why", `${provider.tenant}/1`, ...at());
    const running = await why();
    const listed = await runCommand("orders", "--json", ...at());
    await provider.stop();
    assert.equal(await following.ended(), 0);
    assert.match(following.said, /the provider has stopped/);
    const stopped = await why();
    assert.deepEqual([stopped.stdout, stopped.code, running.code], [running.stdout, 0, 0]);
    assert.match(stopped.stderr, /no running provider answers at .*; this is from its journal/);
    assert.equal((await runCommand("orders", "--json", ...at())).stdout, listed.stdout);

    const about = (id: string | undefined) =>
      running.stdout.split("\n\n").find((each) => each.startsWith(`${id}\n`)) ?? "";
    assert.match(about(small), /\n {2}bid at 10uact per block\n {4}✓ /);
    assert.match(about(small), /createBid filed .*: done at .*, tx [0-9A-F]{64}\n/);
    assert.match(
      about(small),
      /our bid of 10uact: won\n {2}the order: leased after \d+s.* by akash1\S+ at 10uact per block/,
    );
    assert.match(about(large), /\n {2}asks for 11 cpu 64Mi\n {2}pays at most 10000uact per block\n/);
    assert.match(about(large), /✗ placementExists/);
    assert.match(about(large), /to bid on it:\n[\s\S]*insufficient capacity/);
    assert.match(about(hostile), /✗ attributesMatch .*\\u\{1b\}\[2J\\u\{202e\}evil\\u\{a\}✗ forged/);
    assert.ok(!controlSigns.test(running.stdout.replaceAll("\n", "")));

    const { code, stderr } = await runCommand("pause", ...at());
    assert.deepEqual([code, /no running provider answers/.test(stderr)], [1, true]);
  });
});

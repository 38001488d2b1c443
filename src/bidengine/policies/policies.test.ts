import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { groupOf, type UnitWish } from "../../../test/support/market-group.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { addressOf } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { followedFileMs, settingsFileChars } from "../../runtime/limits.ts";
import { silentLog } from "../../runtime/log.ts";
import { judgeBy } from "./judgement.ts";
import { describePolicies, parsePolicies } from "./policies.ts";
import { createPolicySource, readPolicyFile } from "./policy-source.ts";

const alice = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
const bob = addressOf(new Uint8Array(20).fill(7));
const gibi = 2n ** 30n;

const whole = `tenants:
  allow: [${alice}]
  refuse: [${bob}]
caps:
  cpu: 8
  memory: 16Gi
  gpu: { h100: 2, "*": 4 }
  storage: { ephemeral: 100Gi, beta3: 1Ti, ram: 1Gi }
  ips: 1
maintenance:
  - from: 2026-02-01T22:00:00Z
    until: 2026-02-02T02:00:00+01:00
  - from: 2026-03-01T00:00:00Z
demand-configured-attributes:
  enabled: true
`;

function judge(text: string) {
  return judgeBy(parsePolicies(text, "policies.yaml"));
}

function errorOf(text: string): string {
  try {
    parsePolicies(text, "policies.yaml");
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_POLICY_REFUSED")) return thrown.message;
    throw thrown;
  }
  return assert.fail("no error");
}

test("tenants are allowed and rejected by address; reject wins over allow", () => {
  assert.equal(judge("{}").tenant(bob).yes, true);
  const only = judge(`tenants: { allow: [${alice}] }`);
  assert.deepEqual([only.tenant(alice).yes, only.tenant(bob).yes], [true, false]);
  assert.equal(only.tenant(alice.toUpperCase()).yes, true);
  const without = judge(`tenants: { refuse: [${bob}] }`);
  assert.deepEqual([without.tenant(alice).yes, without.tenant(bob).yes], [true, false]);
  assert.equal(judge(`tenants: { allow: [${bob}], refuse: [${bob}] }`).tenant(bob).yes, false);
  assert.equal(judge("tenants: { allow: [] }").tenant(alice).yes, false, "an empty list allows no tenant");
});

test("images match patterns by every short form of their name", () => {
  const { image } = judge(`images:
  allow: ["docker.io/library/*", "ghcr.io/acme/*", "registry.example.com:5000/*"]
  refuse: ["*miner*", "ghcr.io/acme/old"]
`);
  const allowed = [
    ...["nginx", "nginx:1.27", "library/nginx", "docker.io/library/nginx@sha256:abc", "GHCR.io/acme/a/b:v1"],
    "registry.example.com:5000/x:1",
  ];
  for (const name of allowed) assert.equal(image(name).yes, true, name);
  const rejected = [
    "acme/web",
    "ghcr.io/other/web",
    "ghcr.io/acme/xminer:1",
    "ghcr.io/acme/old:v3",
    "miner",
    "localhost/nginx",
  ];
  for (const name of rejected) assert.equal(image(name).yes, false, name);
  assert.equal(
    image("ghcr.io/other/web").reason,
    'image "ghcr.io/other/web" is not among those that the policy allows',
  );
  assert.equal(judge("{}").image("anything").yes, true);
  assert.equal(
    judge("images: { refuse: [nginx] }").image("docker.io/library/nginx:2").yes,
    false,
    "a full name is the short one",
  );
});

test("an image is the same by every name that it can be pulled by", () => {
  const rejecting = judge("images: { refuse: [docker.io/library/nginx, acme/old, ghcr.io/acme/*] }");
  const names = [
    ...["nginx", "docker.io/nginx:1", "index.docker.io/nginx", "registry-1.docker.io/library/nginx@sha256:abc"],
    ...["index.docker.io/acme/old", "docker.io:443/acme/old:2", "ghcr.io:443/acme/web"],
  ];
  for (const name of names) assert.equal(rejecting.image(name).yes, false, name);
  for (const name of ["acme/new", "ghcr.io:5000/acme/web", "example.com/nginx"])
    assert.equal(rejecting.image(name).yes, true, name);
  const allows = judge("images: { allow: [ghcr.io/acme/*, nginx] }");
  assert.equal(allows.image("docker.io/nginx:1").yes, true);
  for (const name of ["docker.io/ghcr.io/acme/web", "example.com/nginx", "Docker/nginx", "localhost/nginx"])
    assert.equal(allows.image(name).yes, false, name);
});

test("wildcard host → rejected where a host in it could be rejected, wherever the pattern has its stars", () => {
  const { hostname } = judge("hostnames: { refuse: ['www.*.com', '*paypal*', 'mail.example.org'] }");
  for (const name of ["*.bank.com", "*.example.net", "*.example.org", "*.a.example.org"])
    assert.equal(hostname(name).yes, false, name);
  for (const name of ["mail.bank.com", "a.example.org"]) assert.equal(hostname(name).yes, true, name);
  const { hostname: narrow } = judge("hostnames: { refuse: ['*.bank.example', 'a*.shop.example'] }");
  for (const name of ["*.other.example", "*.b.shop.example.com"]) assert.equal(narrow(name).yes, true, name);
  for (const name of ["*.shop.example", "*.example", "*.a.shop.example"]) assert.equal(narrow(name).yes, false, name);
});

test("rejected host name → the recorded reason, also by a wildcard that covers it", () => {
  const { hostname } = judge("hostnames: { refuse: ['*.bank.example', 'login.example.com'] }");
  for (const name of ["a.example.com", "bank.example", "xlogin.example.com"])
    assert.equal(hostname(name).yes, true, name);
  for (const name of ["a.bank.example", "a.b.bank.example", "login.example.com", "*.example.com"])
    assert.deepEqual([hostname(name).yes, hostname(name).reason], [false, `"${name}" is blocked by this provider`]);
  const only = judge("hostnames: { allow: ['*.customers.example'], dry-run: true }");
  assert.equal(only.hostname("a.customers.example").yes, true);
  assert.deepEqual([only.hostname("a.example").yes, only.hostname("a.example").dryRun], [false, true]);
});

const nothing: ReadonlyMap<string, bigint> = new Map();

test("caps bound what is sold, all replicas together, and say what is too much", () => {
  const caps = (group: ReturnType<typeof groupOf>) => judge(whole).caps(group, nothing);
  assert.equal(caps(groupOf({ count: 4, cpuMilli: 2_000n, memoryBytes: 4n * gibi })).yes, true);
  const cases: [UnitWish, RegExp][] = [
    [{ count: 5, cpuMilli: 2_000n }, /10 of cpu \(at most 8,/],
    [{ count: 5, memoryBytes: 4n * gibi }, /20Gi of memory \(at most 16Gi,/],
    [{ gpus: 3n, gpuKeys: ["vendor/nvidia/model/h100/ram/80Gi"] }, /3 of gpu h100 \(at most 2,/],
    [{ gpus: 5n, gpuKeys: ["vendor/nvidia/model/t4"] }, /5 of gpu \(at most 4,/],
    [{ storage: { ephemeral: 101n * gibi } }, /101Gi of storage-ephemeral/],
    [{ count: 2, storage: { ephemeral: gibi, beta3: 600n * gibi } }, /1200Gi of storage-beta3 \(at most 1Ti,/],
    [{ storage: { ephemeral: gibi, ram: 2n * gibi } }, /2Gi of storage-ram/],
    [{ endpoints: [1, 2].map((sequenceNumber) => ({ kind: "leased-ip", sequenceNumber })) }, /2 of ips \(at most 1,/],
  ];
  for (const [unit, expected] of cases) {
    const { yes, reason, evidence } = caps(groupOf(unit));
    assert.equal(yes, false);
    assert.match(reason, expected);
    assert.equal(Object.keys(evidence ?? {}).length, 1);
  }
  assert.equal(caps(groupOf({ gpus: 2n, gpuKeys: ["vendor/nvidia/model/h100"] })).yes, true);
  assert.equal(caps(groupOf({ storage: { ephemeral: gibi, beta2: 9_000n * gibi } })).yes, true, "beta2 is not capped");
});

test("caps count what is sold already; an order that requests none of it passes", () => {
  const { caps } = judge("caps: { cpu: 8, gpu: { h100: 2 } }");
  const sold = new Map([
    ["cpu", 6_000n],
    ["gpu h100", 2n],
  ]);
  assert.equal(caps(groupOf({ cpuMilli: 2_000n }), sold).yes, true);
  const more = caps(groupOf({ cpuMilli: 3_000n }), sold);
  assert.deepEqual([more.yes, more.alone], [false, false]);
  assert.equal(more.reason, "the policy offers less than 3 of cpu (at most 8, of which 6 is sold)");
  assert.equal(caps(groupOf({ cpuMilli: 9_000n }), sold).alone, true);
});

test("no bids within a maintenance, from its first instant to the one before its end", () => {
  const { bidding } = judge(whole);
  const at = (text: string) => bidding(Date.parse(text)).yes;
  assert.equal(at("2026-02-01T21:59:59.999Z"), true);
  assert.equal(at("2026-02-01T22:00:00Z"), false);
  assert.equal(at("2026-02-02T00:59:59.999Z"), false);
  assert.equal(at("2026-02-02T01:00:00Z"), true);
  assert.equal(at("2029-01-01T00:00:00Z"), false, "the second has no end");
  assert.match(
    bidding(Date.parse("2026-04-01T00:00:00Z")).reason,
    /since 2026-03-01T00:00:00.000Z, until further notice/,
  );
});

test("what is only tried is judged the same and marked, and what really holds goes before it", () => {
  const dry = judge(`tenants: { refuse: [${bob}], dry-run: true }
caps: { cpu: 1, dry-run: true }
maintenance: [{ from: 2026-01-01T00:00:00Z, dry-run: true }]
demand-configured-attributes: { enabled: true, dry-run: true }
`);
  const now = Date.parse("2026-01-02T00:00:00Z");
  for (const { yes, dryRun } of [dry.tenant(bob), dry.caps(groupOf({ cpuMilli: 2_000n }), nothing), dry.bidding(now)]) {
    assert.deepEqual([yes, dryRun], [false, true]);
  }
  assert.equal(dry.configuredAttributes, "dry-run");
  const both = judge(`maintenance:
  - { from: 2026-01-01T00:00:00Z, dry-run: true }
  - { from: 2026-01-01T12:00:00Z }
`);
  assert.equal(both.bidding(now).dryRun, false);
});

test("invalid policy file → every fault with its line; unknown keys are faults", () => {
  const cases: [string, RegExp][] = [
    ["tenants:\n  alow: []\n", /policies\.yaml is refused: line 2: there is no tenants\.alow/],
    ["pause: true\n", /line 1: there is no pause/],
    ["tenants:\n  allow:\n    - akash1nonsense\n", /line 3: tenants\.allow\.0: .*akash1nonsense/],
    ["caps:\n  memory: 16 gigs\n", /line 2: caps\.memory: .*16 gigs/],
    ["caps:\n  cpu: -1\n", /line 2: caps\.cpu/],
    ["caps:\n  gpu: 4\n", /line 2: caps\.gpu/],
    ["maintenance:\n  - from: tomorrow\n", /line 2: maintenance\.0\.from: "tomorrow" is no time/],
    ["maintenance:\n  - until: 2026-01-01T00:00:00Z\n", /maintenance\.0\.from/],
    ["maintenance: [{ from: 2026-01-02T00:00:00Z, until: 2026-01-01T00:00:00Z }]", /ends before it begins/],
    ["images:\n  refuse: ['[a']\n", /line 2: images\.refuse\.0: "\[a" is no pattern/],
    ["hostnames:\n  deny: []\n", /line 2: there is no hostnames\.deny/],
    ["caps: {cpu: 1\n", /not valid YAML/],
    ["", /it is empty; write `\{\}` for no policies/],
    [
      "caps: { cpu: x }\ntenants: { refuse: [y] }\n",
      /caps\.cpu.*; .*tenants\.refuse\.0|tenants\.refuse\.0.*; .*caps\.cpu/,
    ],
    ["x".repeat(settingsFileChars + 1), /longer than/],
  ];
  for (const [text, expected] of cases) assert.match(errorOf(text), expected);
});

test("a file says in sentences what it means", (t) => {
  const path = join(temporaryFolder(t), "policies.yaml");
  const names = 'images: { refuse: ["*miner*"], dry-run: true }\nhostnames: { allow: ["*.example.com"] }\n';
  writeFileSync(path, names + whole.replace("ips: 1", "ips: 1\n  dry-run: true"));
  const said = describePolicies(readPolicyFile(path));
  assert.ok(said.includes(`Only these tenants are served: ${alice}.`));
  assert.ok(said.includes("These images are rejected: *miner* (dry-run: violations are recorded, and pass)."));
  assert.ok(said.includes("Only these host names are served: *.example.com."));
  assert.ok(said.includes("No bids from 2026-03-01T00:00:00.000Z until further notice."));
  assert.ok(said.includes("Orders must require every attribute of provider.yaml."));
  assert.ok(said.some((each) => /At most 2 of gpu h100 is sold in all \(dry-run: violations are recorded/.test(each)));
  assert.deepEqual(describePolicies(parsePolicies("{}", "inline")), ["Nothing is rejected."]);
  assert.throws(() => readPolicyFile(`${path}.gone`), { code: "AKP_POLICY_UNREADABLE", message: /it is not there/ });
});

test("a change is in force within seconds, also through the links of a ConfigMap, and what is bad keeps the last good", async (t) => {
  const folder = temporaryFolder(t);
  const publish = (version: string, text: string) => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, "policies.yaml"), text);
    symlinkSync(version, join(folder, "..new"));
    renameSync(join(folder, "..new"), join(folder, "..data"));
  };
  publish("..one", "{}");
  const path = join(folder, "policies.yaml");
  symlinkSync("..data/policies.yaml", path);
  const clock = createVirtualClock();
  const source = createPolicySource(path, { clock, log: silentLog });
  t.after(source.close);
  let changes = 0;
  source.onChange(() => {
    changes += 1;
  });
  const look = () => clock.advance(followedFileMs);
  await look();
  assert.deepEqual([source.judge.tenant(bob).yes, changes], [true, 0]);
  publish("..two", `tenants: { refuse: [${bob}] }`);
  await look();
  assert.deepEqual([source.judge.tenant(bob).yes, changes], [false, 1]);
  publish("..three", "tenants: { refuse: [carol] }");
  await look();
  await look();
  assert.deepEqual([source.judge.tenant(bob).yes, changes], [false, 2]);
  assert.match(source.error ?? "", /tenants\.refuse\.0.*the last good policies stay in force/);
  rmSync(join(folder, "..data"));
  await look();
  assert.match(source.error ?? "", /it is not there/);
  assert.equal(source.judge.tenant(bob).yes, false);
  publish("..four", "{}");
  await look();
  assert.deepEqual([source.judge.tenant(bob).yes, source.error], [true, undefined]);
});

test("maintenance window begins or ends → listeners are notified", async (t) => {
  const path = join(temporaryFolder(t), "policies.yaml");
  const clock = createVirtualClock();
  const iso = (ms: number) => new Date(clock.now() + ms).toISOString();
  writeFileSync(path, `maintenance: [{ from: ${iso(60_000)}, until: ${iso(120_000)} }]`);
  const source = createPolicySource(path, { clock, log: silentLog });
  t.after(source.close);
  const seen: boolean[] = [];
  source.onChange(() => seen.push(source.judge.bidding(clock.now()).yes));
  await clock.advance(180_000);
  assert.deepEqual(seen, [false, true]);
});

test("a provider does not start with policies that cannot be read, and leaves no timer", () => {
  const clock = createVirtualClock();
  assert.throws(() => createPolicySource("/nowhere/policies.yaml", { clock, log: silentLog }), {
    code: "AKP_POLICY_UNREADABLE",
  });
  assert.equal(clock.pendingTimers, 0);
  assert.equal(createPolicySource(undefined, { clock, log: silentLog }).judge.tenant(bob).yes, true);
});

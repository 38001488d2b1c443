import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import type { BalanceStatus } from "../balance/balance-status.ts";
import { countStates } from "../cluster/cluster-status.ts";
import { createLeaseStates } from "../cluster/leases/lease-states.ts";
import { parseDecimal } from "../market/decimal.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { DemoStatus } from "./demo.ts";
import { type SaidToOrder, storyLine } from "./market-view.ts";
import { moneyText } from "./money-view.ts";
import { seconds } from "./seconds.ts";
import type { StoryStatus } from "./story.ts";
import { renderView, shortId } from "./view.ts";

const owner = "akash1qyqszqgpqyqszqgpqyqszqgpqyqszqgpjnp7du";
const price = { denom: "uact", amount: parseDecimal("4.5") };
const unleased = { lease: undefined, namespace: undefined, manifest: undefined, error: undefined, end: undefined };
const story = { wish: "web", resources: "2 × 500m cpu 512Mi", bids: 2, ...unleased };
const stories: StoryStatus[] = [
  { ...story, order: `${owner}/10001/1/1`, lease: { provider: "us", price }, end: "won" },
  {
    ...{ ...story, order: `${owner}/10002/1/1`, lease: { provider: "us", price } },
    ...{ namespace: "here", manifest: "updated" },
  },
  { ...story, order: `${owner}/10003/1/1`, lease: { provider: "them", price }, end: "lost" },
  { ...story, order: `${owner}/10004/1/1`, resources: "1 a100 and far more than fits", bids: 0, end: "no bids" },
  { ...story, order: `${owner}/10005/1/1` },
];
const answers: Record<string, SaidToOrder> = {
  "10001": { verdict: "bid", reason: undefined, price: "4.5uact" },
  "10002": { verdict: "bid", reason: undefined, price: "4.5uact" },
  "10003": { verdict: "bid", reason: undefined, price: "5.1uact" },
  "10004": { verdict: "no", reason: "placement: no node has a GPU of nvidia/a100", price: undefined },
};
const market = {
  tenants: {
    stories,
    ended: { won: 1, lost: 1, elsewhere: 0, "no bids": 1, rejected: 0, "no manifest": 0, "out of funds": 2 },
    requests: { token: 5, certificate: 3 },
  },
  answerTo: (order: string) => answers[order.split("/")[1] ?? ""],
  provider: "us",
  workloads: {
    of: (namespace: string) =>
      namespace === "here" ? { ready: 1, desired: 2, hosts: ["web.example.com"] } : undefined,
    namespaces: 1,
  },
};
const balance: BalanceStatus = {
  wallet: [
    { denom: "uact", amount: 9_999_500_000n, low: undefined },
    { denom: "uakt", amount: 123_456_123_456n, low: undefined },
  ],
  money: [
    { denom: "uact", earned: 3_000_054n, withdrawn: 2_500_000n, owed: 500_054n, locked: 1_000_000n, fees: 0n },
    { denom: "uakt", earned: 0n, withdrawn: 0n, owed: 0n, locked: 0n, fees: 25_000n },
  ],
  leases: 3,
  spent: 1,
  next: { lease: `${owner}/10002/1/1/us`, height: 30n, atMs: 74_000 },
  withdrawals: { waiting: 1, done: 4, failed: 0 },
  error: undefined,
};
const status: DemoStatus = {
  gateway: undefined,
  conditions: [],
  balance,
  nowMs: 65_000,
  upMs: 65_000,
  services: [
    { name: "journal", state: "running", sinceMs: 0, detail: "12 commits" },
    { name: "bus", state: "init", sinceMs: 60_000, detail: "redis: not there yet" },
  ],
  queues: [
    {
      name: "orders",
      counts: {
        outcomes: { done: 41, waiting: 2, stalled: 0, failed: 1, recheck: 42 },
        merged: 3,
        refused: 0,
        ready: 1,
        running: 2,
        delayed: 5,
        oldestRunMs: 0,
      },
    },
  ],
  statuses: {},
  bus: [{ topic: "akash.provider.event.order", published: 44, delivered: 43, dropped: 1, retained: "" }],
  chain: {
    chainId: "akash-demo-1",
    height: 12n,
    head: 13n,
    orders: 3,
    bids: 2,
    leases: 1,
    owed: 4,
    landed: 5,
    failed: 6,
    error: undefined,
    events: [`12 order created  ${owner}/7/1/1`],
  },
  inventory: {
    nodes: [
      {
        name: "gpu-1",
        state: "cordoned",
        cpu: { allocated: "1500m", allocatable: "64" },
        memory: { allocated: "12Gi", allocatable: "256Gi" },
        gpu: { allocated: "2", allocatable: "8" },
        cards: "8 × h100",
      },
    ],
    trouble: "pods may be out of date",
  },
  cluster: {
    nodes: 1,
    leases: 1,
    reservations: 3,
    awaited: 0,
    ageMs: 5,
    trouble: undefined,
    resources: [{ resource: "cpu", allocatable: "64", reserved: "12500m", free: "50" }],
    leaseStates: countStates({ states: createLeaseStates(() => undefined) }),
    leaseHealth: { healthy: 0, unhealthy: 0, unknown: 0 },
    conditions: [],
  },
  manifest: undefined,
  bidengine: undefined,
  market,
  left: { namespaces: 1, reservations: 3, manifests: 1 },
};
const options = {
  title: "akash-provider demo",
  hints: ["ask for orders"],
  columns: 100,
  rows: 50,
  color: false,
  logLines: ["one", "two"],
};

test("the view shows each order with its answer and what became of it", () => {
  const text = renderView(status, options).join("\n");
  assert.match(
    text,
    /\n1 won, 1 lost, 0 elsewhere, 1 no bids, 0 rejected, 0 no manifest, 2 out of funds\nORDER resources +outcome +answer\n/,
  );
  assert.match(text, /10005 2 × 500m cpu 512Mi +open +…\n10004/, "the newest is the first");
  assert.match(text, /10001 2 × 500m cpu 512Mi +closed +bid 4\.5uact\n/);
  assert.match(text, /10002 2 × 500m cpu 512Mi +won +bid 4\.5uact\n/);
  assert.match(text, /10003 2 × 500m cpu 512Mi +lost +bid 5\.1uact\n/);
  assert.match(text, /10004 1 a100 and far more t… no bids +no: no node has a GPU of nvidia\/a100\n/);
});

test("the view lists active leases with ready and desired pods and host names", () => {
  const text = renderView(status, options).join("\n");
  assert.match(text, /LEASE pods +manifest hosts\n10002 1\/2 +updated +web\.example\.com\n\n/);
  const idle = renderView({ ...status, market: { ...market, workloads: undefined } }, options).join("\n");
  assert.doesNotMatch(idle, /LEASE/);
});

test("a small terminal has the money, the market, the nodes and the chain", () => {
  const many = Array.from({ length: 16 }, (_, n) => ({ ...story, order: `${owner}/${20_000 + n}/1/1` }));
  const lines = renderView(
    { ...status, market: { ...market, tenants: { ...market.tenants, stories: many } } },
    { ...options, columns: 80, rows: 24 },
  );
  assert.equal(lines.length, 24);
  assert.ok(lines.filter((line) => /^200\d\d /.test(line)).length >= 4);
  const text = lines.join("\n");
  assert.match(text, /MONEY .*\n {2}ACT .*\n {2}AKT .*\n {2}escrows 3/);
  assert.match(text, /gpu-1 .* cordoned/);
  assert.match(text, /CHAIN {2}akash-demo-1[^\n]*\n {2}open orders 3.*failed 6/);
});

test("where nothing is drawn, a story that has ended is a line", () => {
  const [won, , , unserved] = stories;
  assert.ok(won && unserved);
  assert.equal(
    storyLine(won, answers["10001"]),
    `${owner}/10001/1/1 web (2 × 500m cpu 512Mi): bid 4.5uact; 2 bids, leased for 4.5uact a block: won`,
  );
  const rejected = { ...won, manifest: "rejected: another hash", end: "rejected" } as const;
  assert.match(storyLine(rejected, answers["10001"]), /a block, manifest rejected: another hash: rejected$/);
  const mended = { ...won, manifest: "updated", error: "ImageError: no such image" };
  assert.match(storyLine(mended, answers["10001"]), /, manifest updated after ImageError: no such image: won$/);
  assert.match(storyLine(unserved, answers["10004"]), /: no: placement: no node .*; 0 bids, closed: no bids$/);
});

test("the view shows services, chain, nodes, queues, topics and the newest log lines", () => {
  const text = renderView(status, options).join("\n");
  assert.match(text, /● journal +running +1 m 5 s +12 commits/);
  assert.match(text, /● bus +init +5 s +redis: not there yet/);
  assert.match(text, /orders +1 +2 +5 +41 +2 +0 +1 +42 +0/);
  assert.match(text, /akash\.provider\.event\.order +44 +43 +1/);
  assert.match(text, /CHAIN {2}akash-demo-1 {2}block 12 of 13/);
  assert.match(text, /open orders 3, our bids 2, leases 1; messages: waiting 4, landed 5, failed 6/);
  assert.match(text, /12 order created {2}akash1qyqsz…p7du\/7\/1\/1/);
  assert.match(text, /gpu-1 +1500m of 64 +12Gi of 256Gi +2 of 8 +cordoned +8 × h100\n/);
  assert.match(text, /promised: cpu 12500m, memory 0, gpu 0, to 3 orders\n +pods may be out of date\n/);
  assert.match(text, /LOG\none\ntwo$/);
});

test("the view fits the terminal, in colour too", () => {
  for (const color of [false, true]) {
    const lines = renderView(status, { ...options, columns: 40, rows: 8, color });
    assert.ok(lines.length <= 8);
    for (const line of lines) assert.ok(stripVTControlCharacters(line).length <= 40, line);
  }
});

test("the view shows the money per denomination, to the last micro-unit that fits 80 columns", () => {
  const lines = renderView(status, { ...options, columns: 80 });
  const start = lines.findIndex((line) => line.startsWith("MONEY"));
  assert.ok(start >= 0 && start < lines.findIndex((line) => line.startsWith("ORDER")), "it is near the top");
  assert.deepEqual(lines.slice(start, start + 5), [
    "MONEY       wallet      earned   withdrawn        owed      locked        fees",
    "  ACT  9999.500000    3.000054    2.500000    0.500054    1.000000    0.000000",
    "  AKT  123456.1234    0.000000    0.000000    0.000000    0.000000    0.025000",
    "  escrows 3, spent 1, next runs out in 9 s; withdrawals: 4 done, 1 waiting",
    "",
  ]);
});

test("a low wallet and what keeps the books from going on are said in words", () => {
  const low = "0.4 AKT, and 1 AKT is to be kept";
  const wallet = [{ denom: "uakt", amount: 400_000n, low }];
  const withdrawals = { ...balance.withdrawals, failed: 2 };
  const degraded = { ...balance, wallet, withdrawals, error: "no node answers" };
  const text = renderView({ ...status, balance: degraded }, options).join("\n");
  assert.match(
    text,
    /4 done, 1 waiting, 2 failed\n {2}wallet is low: 0\.4 AKT, and 1 AKT is to be kept\n {2}no node answers\n\n/,
  );
});

test("the final summary shows earned and outstanding tokens", () => {
  const books = "earned 3.000054 ACT, withdrawn 2.5 ACT, owed 0.500054 ACT, deposits out 1 ACT, fees 0.025 AKT";
  assert.equal(moneyText(balance), `wallet 9999.5 ACT and 123456.123456 AKT, ${books}`);
  const nothing = "wallet 0, earned 0, withdrawn 0, owed 0, deposits out 0, fees 0";
  assert.equal(moneyText({ wallet: [], money: [] }), nothing);
});

test("a service that failed shows why instead of what it does", () => {
  const error = new ProviderError("AKP_DISK_FULL", { path: "/data" });
  const services = [{ name: "journal", state: "done" as const, sinceMs: 0, detail: "12 commits", error }];
  const text = renderView({ ...status, services }, options).join("\n");
  assert.match(text, /journal +done .*the disk that holds \/data is full/);
  assert.doesNotMatch(text, /12 commits/);
});

test("durations and orders are short", () => {
  assert.deepEqual(
    [seconds(999), seconds(59_999), seconds(61_000), seconds(7_320_000)],
    ["0 s", "59 s", "1 m 1 s", "2 h 2 m"],
  );
  assert.equal(shortId("akash1short/1/2/3"), "akash1short/1/2/3");
});

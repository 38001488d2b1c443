import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { ProviderError } from "../runtime/errors.ts";
import type { DemoStatus } from "./demo.ts";
import { renderView, seconds, shortId } from "./view.ts";

const deployment = "akash1qyqszqgpqyqszqgpqyqszqgpqyqszqgpjnp7du/7";
const stations = [
  { name: "posted", atMs: 10 },
  { name: "order seen", atMs: 260 },
];
const status: DemoStatus = {
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
  documents: {},
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
    trouble: undefined,
    events: [`12 order created  ${deployment}/1/1`],
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
  tenants: { stories: [{ deployment, stations, complete: false }], complete: 41 },
};
const options = {
  title: "akash-provider demo",
  columns: 100,
  rows: 40,
  color: false,
  logLines: ["one", "two"],
};

test("the view shows services, chain, nodes, queues, topics, stories and the newest log lines", () => {
  const text = renderView(status, options).join("\n");
  assert.match(text, /● journal +running +1 m 5 s +12 commits/);
  assert.match(text, /● bus +init +5 s +redis: not there yet/);
  assert.match(text, /orders +1 +2 +5 +41 +2 +0 +1 +42 +0/);
  assert.match(text, /akash\.provider\.event\.order +44 +43 +1/);
  assert.match(text, /CHAIN {2}akash-demo-1 {2}block 12 of 13/);
  assert.match(text, /open orders 3 {2}our bids 2 {2}our leases 1 {2}transactions: waiting 4 landed 5 failed 6/);
  assert.match(text, /12 order created {2}akash1qyqsz…p7du\/7\/1\/1/);
  assert.match(text, /… akash1qyqsz…p7du\/7 {2}posted \+0.0 s → order seen \+0.3 s/);
  assert.match(text, /gpu-1 +1500m of 64 +12Gi of 256Gi +2 of 8 +cordoned +8 × h100\n +pods may be out of date/);
  assert.match(text, /LOG\none\ntwo$/);
});

test("the view fits the terminal, in colour too", () => {
  for (const color of [false, true]) {
    const lines = renderView(status, { ...options, columns: 40, rows: 8, color });
    assert.ok(lines.length <= 8);
    for (const line of lines) assert.ok(stripVTControlCharacters(line).length <= 40, line);
  }
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

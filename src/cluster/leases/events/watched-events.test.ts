import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCost } from "../../../../test/support/cost.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { eventNoteChars, printableText } from "./lease-history.ts";
import { readObservedEvent } from "./watched-events.ts";

const nowMs = Date.parse("2026-11-16T12:00:00Z");

function event(fields: Record<string, unknown>, name = "web-5d9c7bf6c8-x2kqz"): KubeObject {
  const metadata = { name: `${name}.17f`, namespace: "ns", uid: "6f1c", creationTimestamp: "2026-11-16T11:00:00Z" };
  return { metadata, type: "Warning", reason: "BackOff", regarding: { kind: "Pod", name }, ...fields };
}

const read = (fields: Record<string, unknown>, name?: string) => readObservedEvent("lease", event(fields, name), nowMs);

test("an Event of the older form has its count and its times", () => {
  const { count, firstAtMs, lastAtMs, object } = read({
    ...{ deprecatedCount: 37, deprecatedFirstTimestamp: "2026-11-16T08:00:00Z" },
    ...{ deprecatedLastTimestamp: "2026-11-16T11:59:00Z", eventTime: null },
  });
  const times = [firstAtMs, lastAtMs].map((ms) => new Date(ms).toISOString().slice(11, 19));
  assert.deepEqual([count, ...times, object], [37, "08:00:00", "11:59:00", "Pod web-5d9c7bf6c8-x2kqz"]);
});

test("an Event of the newer form has those of its series", () => {
  const eventTime = "2026-11-16T09:00:00.123456Z";
  assert.deepEqual([read({ eventTime }).count, read({ eventTime }).lastAtMs], [1, Date.parse(eventTime)]);
  const series = { count: 4, lastObservedTime: "2026-11-16T09:30:00.000001Z" };
  const { count, firstAtMs, lastAtMs } = read({ eventTime, series });
  assert.deepEqual([count, firstAtMs, lastAtMs], [4, Date.parse(eventTime), Date.parse(series.lastObservedTime)]);
});

test("an Event without any time happened when it was made, and nonsense counts as one", () => {
  const { count, lastAtMs } = read({ deprecatedCount: -4, deprecatedLastTimestamp: "yesterday" });
  assert.deepEqual([count, lastAtMs], [1, Date.parse("2026-11-16T11:00:00Z")]);
  assert.equal(read({ deprecatedCount: "many", series: [] }).count, 1);
});

test("a time that is years off its creation by the server is replaced by that", () => {
  const made = Date.parse("2026-11-16T11:00:00Z");
  for (const year of ["1970", "2027"]) {
    const timestamp = `${year}-11-16T11:30:00Z`;
    const { firstAtMs, lastAtMs } = read({ deprecatedFirstTimestamp: timestamp, deprecatedLastTimestamp: timestamp });
    assert.deepEqual([firstAtMs, lastAtMs], [made, made]);
  }
});

test("a time that is a little ahead of our clock is cut to now", () => {
  const timestamp = new Date(nowMs + 30_000).toISOString();
  assert.equal(read({ deprecatedLastTimestamp: timestamp }).lastAtMs, nowMs);
});

test("an Event keeps its key when it is deleted and made again, and another one has another", () => {
  const { key } = read({});
  assert.equal(read({ note: "other words", deprecatedCount: 9 }).key, key);
  assert.notEqual(read({}, "web-7f8b9c6d5b-4vwxz").key, key);
});

test("what a tenant has a say in is one short line without secrets, whatever is in it", () => {
  const most = eventNoteChars;
  assert.equal(printableText("a\u001b[2J\nb\u202ec\u0000", most), "a [2J b c");
  assert.equal(printableText("x".repeat(10 * most), most).length, most);
  assert.equal(printableText(`${"x".repeat(most - 2)}🙂🙂`, most).isWellFormed(), true);
  assert.equal(printableText("pull https://me:hunter22@registry.example.com/x", most).includes("hunter22"), false);
  const signed = 'GET "https://blobs.example.com/v2/x?verify=17-abc%3D&x=1": 403';
  assert.equal(printableText(signed, most), 'GET "https://blobs.example.com/v2/x?…": 403');
  const hostile = read({ note: { not: "text" }, reason: ["x"], regarding: "nobody", type: "\u0007" });
  assert.deepEqual([hostile.note, hostile.reason, hostile.object, hostile.type], ["", "", " ", "Warning"]);
});

test("a note of a million characters costs no more than one that is just too long", async () => {
  const notes = (chars: number) =>
    ["a", "1", "-", "https://", "-b", "?"].map((sign) => sign.repeat(chars / sign.length));
  const [huge, long] = [notes(1_000_000), notes(8 * eventNoteChars)];
  const readAll = (notes: readonly string[]) => () => notes.map((note) => read({ note }));
  await assertCost(readAll(huge), { times: 4, of: readAll(long) });
});

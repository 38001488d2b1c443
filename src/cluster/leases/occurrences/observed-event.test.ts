import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCost } from "../../../../test/cost.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { occurrenceNoteChars, printableText } from "./lease-history.ts";
import { counted, familyOf, occurrenceEvents, readObservedEvent } from "./observed-event.ts";

const nowMs = Date.parse("2026-11-16T12:00:00Z");

function event(fields: Record<string, unknown>, name = "web-5d9c7bf6c8-x2kqz"): KubeObject {
  const metadata = { name: `${name}.17f`, namespace: "ns", uid: "6f1c", creationTimestamp: "2026-11-16T11:00:00Z" };
  return { metadata, type: "Warning", reason: "BackOff", regarding: { kind: "Pod", name }, ...fields };
}

const read = (fields: Record<string, unknown>, name?: string) => readObservedEvent("lease", event(fields, name), nowMs);

test("an Event of the older form has its count and its times", () => {
  const { count, firstMs, lastMs, object } = read({
    ...{ deprecatedCount: 37, deprecatedFirstTimestamp: "2026-11-16T08:00:00Z" },
    ...{ deprecatedLastTimestamp: "2026-11-16T11:59:00Z", eventTime: null },
  });
  const times = [firstMs, lastMs].map((ms) => new Date(ms).toISOString().slice(11, 19));
  assert.deepEqual([count, ...times, object], [37, "08:00:00", "11:59:00", "Pod web-5d9c7bf6c8-x2kqz"]);
});

test("an Event of the newer form has those of its series", () => {
  const eventTime = "2026-11-16T09:00:00.123456Z";
  assert.deepEqual([read({ eventTime }).count, read({ eventTime }).lastMs], [1, Date.parse(eventTime)]);
  const series = { count: 4, lastObservedTime: "2026-11-16T09:30:00.000001Z" };
  const { count, firstMs, lastMs } = read({ eventTime, series });
  assert.deepEqual([count, firstMs, lastMs], [4, Date.parse(eventTime), Date.parse(series.lastObservedTime)]);
});

test("an Event without any time happened when it was made, and nonsense counts as one", () => {
  const { count, lastMs } = read({ deprecatedCount: -4, deprecatedLastTimestamp: "yesterday" });
  assert.deepEqual([count, lastMs], [1, Date.parse("2026-11-16T11:00:00Z")]);
  assert.equal(read({ deprecatedCount: "many", series: [] }).count, 1);
});

test("nodes whose clocks are years off neither hide what sane ones say after them, nor date what they say", () => {
  let row: OccurrenceRow | undefined;
  const pods = 2 * occurrenceEvents;
  const year = (at: number) => (at >= pods ? "2026" : at % 4 === 1 ? "1970" : "2027");
  const all = Array.from({ length: 2 * pods }, (_, at) => {
    const time = `-11-16T12:${`${Math.floor(at / 60)}`.padStart(2, "0")}:${`${at % 60}`.padStart(2, "0")}Z`;
    const [told, made] = [`${year(at)}${time}`, `2026${time}`];
    const times = { deprecatedFirstTimestamp: told, deprecatedLastTimestamp: told };
    const metadata = { name: `web-0.${at}`, creationTimestamp: made };
    return { madeMs: Date.parse(made), event: { ...event({ ...times, note: "Back-off" }), metadata } };
  });
  for (const { event, madeMs } of all) row = counted(row, readObservedEvent("lease", event, madeMs), madeMs) ?? row;
  const [first, last] = [all[0], all.at(-1)];
  assert.ok(first && last);
  assert.deepEqual([row?.count, row?.firstAtMs, row?.lastAtMs], [2 * pods, first.madeMs, last.madeMs]);
  // All of them come again with the next list.
  for (const { event } of all)
    assert.equal(counted(row, readObservedEvent("lease", event, last.madeMs), last.madeMs), undefined);
});

test("another pod, another id or another time is the same; another reason, service or sentence is not", () => {
  const note = (pod: string, uid: string, pause: string) =>
    `back-off ${pause} restarting failed container=web pod=${pod}_ns(${uid})`;
  const [a, b] = ["web-5d9c7bf6c8-x2kqz", "web-7f8b9c6d5b-4vwxz"];
  const first = read({ note: note(a, "0d9a2b7e-51a4-4f0e-9b8a-1c2d3e4f5a6b", "10s") }, a);
  assert.equal(read({ note: note(b, "ffffffff-4f0e-51a4-abcd-aaaaaaaaaaaa", "5m0s") }, b).key, first.key);
  assert.equal(read({ note: `(combined from similar events): ${first.note}` }, a).key, first.key);
  const others = [
    read({ note: first.note, reason: "Failed" }, a),
    read({ note: first.note, type: "Normal" }, a),
    read({ note: first.note }, "store-0"),
    read({ note: "Error: ImagePullBackOff" }, a),
  ];
  assert.equal(new Set([first, ...others].map(({ key }) => key)).size, 5);
});

test("what is the same for every replica and every update is left of a name", () => {
  const cases = [
    ["Pod", "web-5d9c7bf6c8-x2kqz", "web"],
    ["Pod", "my-web-2-5d9c7bf6c8-x2kqz", "my-web-2"],
    ["Pod", "store-12", "store"],
    ["ReplicaSet", "web-5d9c7bf6c8", "web"],
    ["PersistentVolumeClaim", "data-store-0", "data-store"],
    ["StatefulSet", "store-2", "store-2"],
    ["Namespace", "q9f6b2s", "q9f6b2s"],
  ] as const;
  for (const [kind, name, family] of cases) assert.equal(familyOf(kind, name), family, name);
});

test("what a tenant has a say in is one short line without secrets, whatever is in it", () => {
  const most = occurrenceNoteChars;
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
  const [huge, long] = [notes(1_000_000), notes(8 * occurrenceNoteChars)];
  const readAll = (notes: readonly string[]) => () => notes.map((note) => read({ note }));
  await assertCost(readAll(huge), { times: 4, of: readAll(long) });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { providerLeaseV1ServiceLogsResponse } from "../../runtime/grpc/akash-proto.ts";
import { gatherLogs, logsMessages } from "./lease-logs-message.ts";

const line = (pod: string, text: string) => ({ service: pod.slice(0, 3), pod, text });

function read(message: Uint8Array): string[] {
  const { services } = providerLeaseV1ServiceLogsResponse.decode(message);
  return services.map(({ name, logs }) => `${name}: ${Buffer.from(logs).toString()}`);
}

test("the lines of a batch are together by pod, in their order", () => {
  const lines = [line("web-1", "a"), line("web-1", ""), line("api-1", "b"), line("web-2", "c")];
  assert.deepEqual([...logsMessages(lines, 100)].map(read), [["web: a\n\n", "api: b\n", "web: c\n"]]);
  assert.deepEqual([...logsMessages([], 100)], []);
});

test("what is too long for one message goes on in the next, byte by byte", () => {
  const text = "äöü".repeat(50);
  const messages = [...logsMessages([line("web-1", text), line("api-1", "x")], 64)];
  const entries = messages.flatMap((each) => providerLeaseV1ServiceLogsResponse.decode(each).services);
  for (const { logs } of entries) assert.ok(logs.length <= 64);
  const of = (service: string) => Buffer.concat(entries.filter(({ name }) => name === service).map(({ logs }) => logs));
  assert.deepEqual([of("web").toString(), of("api").toString()], [`${text}\n`, "x\n"]);
});

test("short lines by turns from two pods make no message that is too large for its reader", () => {
  const lines = Array.from({ length: 10_000 }, (_, n) => line(`web-${n % 2}`, "x"));
  const messages = [...logsMessages(lines, 10_000)];
  assert.equal(messages.flatMap(read).length, 10_000);
  for (const { length } of messages) assert.ok(length < 11_000, `${length} bytes`);
});

test("of too much to tell at once each pod keeps its last lines, and a chatty one hides no quiet one", () => {
  const gathered = gatherLogs(60);
  gathered.add([line("web-2", "quiet")]);
  for (let number = 0; number < 1_000; number += 1) gathered.add([line("web-1", `line ${number}`)]);
  assert.deepEqual(read(gathered.message()), ["web: line 997\nline 998\nline 999\n", "web: quiet\n"]);
});

test("a single line that is too long is told by its end", () => {
  const gathered = gatherLogs(8);
  gathered.add([line("web-1", "0123456789abcdef")]);
  assert.deepEqual(read(gathered.message()), ["web: 9abcdef\n"]);
  assert.deepEqual(read(gatherLogs(8).message()), []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { readShellRequest } from "./shell-route.ts";

const read = (query: string) => readShellRequest(new URLSearchParams(query));
const rest = "service=web&tty=1&stdin=0&cmd0=sh";

test("command has all its words, also empty ones", () => {
  const parameters = read("service=web&podIndex=3&tty=1&stdin=2&cmd0=echo&cmd1=&cmd2=b&cmd4=lost");
  assert.deepEqual(parameters, { command: ["echo", "", "b"], tty: true, service: "web", stdin: false, podIndex: 3 });
});

test("pod index is parsed in any base of Go", () => {
  const indexes = { 0: 0, "00": 0, 7: 7, "010": 8, "1_0": 10, "0x1F": 31, "0b11": 3, "0o17": 15, "0_7": 7 };
  for (const [text, index] of Object.entries({ ...indexes, "2147483647": 2 ** 31 - 1 })) {
    assert.equal(read(`${rest}&podIndex=${text}`)?.podIndex, index, text);
  }
  for (const text of ["-1", "abc", "2147483648", "1.5", "_1", "1_", "1__0", "08", "0x", "+1", "9".repeat(1_000)]) {
    assert.equal(read(`${rest}&podIndex=${encodeURIComponent(text)}`), undefined, text);
  }
});

test("query with many words is parsed in linear time", (t) => {
  const query = new URLSearchParams(`${rest}&podIndex=0&cmd0=other`);
  for (let n = 1; n < 1_000; n += 1) query.append(`cmd${n}`, "w");
  const looks = t.mock.method(query, "get");
  assert.deepEqual(readShellRequest(query)?.command.slice(0, 2), ["sh", "w"]);
  assert.ok(looks.mock.callCount() < 10);
});

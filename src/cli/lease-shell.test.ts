import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "./lease-shell.ts";
import { lineText } from "./lease-streams.ts";

const refuse = (why: string): never => {
  throw new Error(why);
};

const commands: readonly [readonly string[], readonly string[]][] = [
  [["/bin/sh"], ["/bin/sh"]],
  [["ls -la  /tmp"], ["ls", "-la", "/tmp"]],
  [['sh -c "echo a b"'], ["sh", "-c", "echo a b"]],
  [['a"b c"d'], ["ab cd"]],
  [
    ["sh", "-c", 'echo "a b"'],
    ["sh", "-c", 'echo "a b"'],
  ],
];

for (const [given, words] of commands) {
  test(`the command ${JSON.stringify(given)} has the words ${JSON.stringify(words)}`, () => {
    assert.deepEqual(commandOf(given, refuse), words);
  });
}

test("a command that would arrive as another one is rejected", () => {
  for (const [given, why] of [
    [['sh -c "echo'], /never closed/],
    [["  "], /empty/],
    [["echo", "a", ""], /empty/],
    [['echo ""'], /empty/],
  ] as const)
    assert.throws(() => commandOf(given, refuse), why);
});

test("on a terminal a line keeps its colours and tabs, and moves no cursor; elsewhere it is as it was printed", () => {
  const line = "\u001b[31mred\u001b[0m\tand\u001b[2J";
  assert.equal(lineText(line, true), "\u001b[31mred\u001b[0m\tand\\u{1b}[2J\u001b[0m");
  assert.equal(lineText(line, false), line);
});

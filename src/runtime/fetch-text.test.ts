import assert from "node:assert/strict";
import { test } from "node:test";
import { takeCredentials } from "./fetch-text.ts";

function pairIn(given: string): string {
  const url = new URL(given);
  const { authorization = "" } = takeCredentials(url);
  assert.doesNotMatch(url.href, /@/);
  return Buffer.from(authorization.replace("Basic ", ""), "base64").toString("utf8");
}

test("credentials of an address are sent as they were meant, and leave the address", () => {
  assert.equal(pairIn("https://bot:se%20cret@example.com/"), "bot:se cret");
  assert.equal(pairIn("https://bot:%C3%BC@example.com/"), "bot:ü");
  assert.deepEqual(takeCredentials(new URL("https://example.com/")), {});
});

test("a percent sign that begins no escape is taken as it stands", () => {
  assert.equal(pairIn("https://bot:50%off@example.com/"), "bot:50%off");
  assert.equal(pairIn("https://100%:a%20b@example.com/"), "100%:a b");
  assert.equal(pairIn("https://bot:50%off ü@example.com/"), "bot:50%off ü");
  assert.equal(pairIn("https://bot:%FF@example.com/"), "bot:%FF");
});

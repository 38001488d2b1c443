import assert from "node:assert/strict";
import { test } from "node:test";
import { catalogue, type ErrorCode, exitCodes } from "./catalogue.ts";
import { ProviderError, reasonOf, systemCodeOf } from "./errors.ts";

test("message and advice are filled with the details", () => {
  const error = new ProviderError("AKP_DATA_DIR_UNWRITABLE", { path: "/data", reason: "EACCES" });
  assert.equal(error.message, "the data directory /data cannot be written: EACCES");
  assert.equal(error.advice, "Make /data writable for this user, or choose another one with --data-dir.");
  assert.equal(error.entry.exit, exitCodes.storage);
  assert.equal(error.name, "ProviderError");
  assert.ok(error instanceof Error);
});

test("the compiler asks for every detail a code needs, and lets more be added", () => {
  // @ts-expect-error: `reason` is missing
  assert.match(new ProviderError("AKP_DATA_DIR_UNWRITABLE", { path: "/data" }).message, /undefined/);
  // @ts-expect-error: there is no such code
  assert.throws(() => new ProviderError("AKP_NO_SUCH_CODE", {}));
  const more = new ProviderError("AKP_DISK_FULL", { path: "/data", freeBytes: 0n });
  assert.equal(more.details["freeBytes"], 0n);
});

test("anything thrown becomes one of ours, with its cause kept", () => {
  const ours = new ProviderError("AKP_DISK_FULL", { path: "/data" });
  assert.equal(ProviderError.from(ours), ours);
  const theirs = new TypeError("not a function");
  const wrapped = ProviderError.from(theirs);
  assert.equal(wrapped.code, "AKP_INTERNAL");
  assert.equal(wrapped.message, "unexpected error: not a function");
  assert.equal(wrapped.cause, theirs);
});

test("a code can be asked for", () => {
  const error: unknown = new ProviderError("AKP_DISK_FULL", { path: "/data" });
  assert.equal(ProviderError.is(error, "AKP_DISK_FULL"), true);
  assert.equal(ProviderError.is(error, "AKP_INTERNAL"), false);
  assert.equal(ProviderError.is(new Error("AKP_DISK_FULL"), "AKP_DISK_FULL"), false);
});

test("a reason can be had of anything that was thrown", () => {
  const cases: readonly (readonly [thrown: unknown, reason: string])[] = [
    [new Error("broken"), "broken"],
    [new TypeError(), "TypeError"],
    ["broken", "broken"],
    [undefined, "undefined"],
    [Symbol("s"), "Symbol(s)"],
    [new AggregateError([new Error("one"), "two"]), "one; two"],
    [new AggregateError([new Error("one")], "both"), "both"],
    [Object.create(null), "[object Object]"],
  ];
  for (const [thrown, reason] of cases) assert.equal(reasonOf(thrown), reason);
});

test("the code of the operating system is found, and only there", () => {
  assert.equal(systemCodeOf(Object.assign(new Error("no room"), { code: "ENOSPC" })), "ENOSPC");
  assert.equal(systemCodeOf(Object.assign(new Error("odd"), { code: 28 })), undefined);
  assert.equal(systemCodeOf({ code: "ENOSPC" }), undefined);
  assert.equal(systemCodeOf(new Error("plain")), undefined);
});

for (const [code, entry] of Object.entries(catalogue)) {
  test(`${code} has a message, an advice and statuses, and its blanks can be filled`, () => {
    assert.match(code, /^AKP_[A-Z]+(?:_[A-Z]+)+$|^AKP_INTERNAL$/);
    assert.ok(entry.message.length > 0 && entry.advice.length > 0);
    assert.ok(entry.http >= 400 && entry.http <= 599);
    const blanks = [...`${entry.message} ${entry.advice}`.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
    for (const blank of blanks) assert.match(blank, /^[a-z]\w*$/i, "a blank is a plain name");
    const details = Object.fromEntries(blanks.map((blank) => [blank, `<${blank}>`]));
    const error = new ProviderError(code as ErrorCode, details as never);
    for (const text of [error.message, error.advice]) {
      assert.doesNotMatch(text, /[{}]|undefined/);
    }
    for (const blank of blanks) assert.ok(`${error.message} ${error.advice}`.includes(`<${blank}>`));
  });
}

test("a detail is put in as it is, signs of templates included", () => {
  const error = new ProviderError("AKP_INTERNAL", { reason: "$& {path} $1" });
  assert.equal(error.message, "unexpected error: $& {path} $1");
});

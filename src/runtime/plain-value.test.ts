import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { ProviderError } from "./errors.ts";
import {
  isSecretName,
  logDepth,
  logEntries,
  logLineChars,
  logNameChars,
  logStringChars,
  type Plain,
  plainText,
  plainValue,
} from "./plain-value.ts";
import { createRedactor } from "./redact.ts";

const redactor = createRedactor();
const show = (value: unknown) => plainValue(value, redactor);

test("what JSON cannot say is said in words", () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const cases: readonly (readonly [unknown, Plain])[] = [
    [123n, "123"],
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
    [undefined, null],
    [Symbol("here"), "Symbol(here)"],
    [createRedactor, "[function createRedactor]"],
    [
      new Map<unknown, unknown>([
        ["a", 1],
        [2, { b: new Set([3n]) }],
      ]),
      { a: 1, "2": { b: ["3"] } },
    ],
    [new Uint8Array(32), "[32 bytes]"],
    [new Float64Array(2).buffer, "[16 bytes]"],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [new Date(Number.NaN), "[invalid time]"],
    [/a+/g, "/a+/g"],
    [new URL("http://me:pw@host/path"), "http://[redacted]@host/path"],
    [new URLSearchParams({ a: "b" }), "a=b"],
    [new Headers({ accept: "a", authorization: "31d4d96e" }), { accept: "a", authorization: "[redacted]" }],
    [Object.create(null, { a: { value: 1, enumerable: true } }), { a: 1 }],
    [{ a: undefined, b: [undefined] }, { b: [null] }],
    [{ toJSON: () => ({ short: true }) }, { short: true }],
    [revoked.proxy, "[unreadable: error]"],
  ];
  for (const [value, shown] of cases) assert.deepEqual(show(value), shown);
});

test("a getter or a toJSON that throws costs only what it would have shown", () => {
  const value = {
    get bad() {
      throw new Error("no");
    },
    worse: { toJSON: () => assert.fail("no") },
    good: 1,
  };
  assert.deepEqual(show(value), { bad: "[unreadable: object]", worse: "[unreadable: error]", good: 1 });
});

test("cycles end where they begin", () => {
  const loop: Record<string, unknown> = { a: 1 };
  loop["self"] = loop;
  loop["list"] = [loop];
  loop["map"] = new Map([["back", loop]]);
  const error = new Error("round");
  error.cause = error;
  assert.deepEqual(show(loop), { a: 1, self: "[circular]", list: ["[circular]"], map: { back: "[circular]" } });
  assert.equal((show(error) as { cause: string }).cause, "[circular]");
  const shared = { a: 1 };
  assert.deepEqual(show([shared, shared]), [{ a: 1 }, { a: 1 }], "the same thing twice is no cycle");
});

test("depth, entries, strings, names and the whole line are bounded", () => {
  let deep: unknown = "bottom";
  for (let level = 0; level < 100; level += 1) deep = { deep };
  assert.equal(JSON.stringify(show(deep)).split("deep").length - 2, logDepth);

  const list = show(Array.from({ length: 1_000 }, (_, index) => index)) as Plain[];
  assert.deepEqual(list.slice(-2), [logEntries - 1, "… 900 more"]);
  const set = show(new Set(Array.from({ length: 1_000 }, (_, index) => index))) as Plain[];
  assert.deepEqual(set, list);
  const object = show(Object.fromEntries(list.map((item) => [`n${String(item)}`, item]))) as Record<string, Plain>;
  assert.equal(object["…"], "1 more");

  assert.equal(show("x".repeat(5_000)), `${"x".repeat(logStringChars)}… (5000 characters)`);
  assert.equal(plainText("x".repeat(5_000), redactor), show("x".repeat(5_000)));
  const [name = ""] = Object.keys(show({ ["n".repeat(5_000)]: 1 }) as object);
  assert.equal(name, `${"n".repeat(logNameChars)}… (5000 characters)`);

  const wide = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => "some words".repeat(50)));
  assert.ok(JSON.stringify(show(wide)).length < 2 * logLineChars);
});

test("what is small but holds itself many times over is bounded too", () => {
  let laughs: unknown = 1;
  for (let level = 1; level < logDepth; level += 1) laughs = Array.from({ length: 100 }, () => laughs);
  for (const value of [laughs, { env: laughs }, new Map([[laughs, laughs]]), { rawHeaders: laughs }]) {
    assert.ok(JSON.stringify(show(value)).length < 2 * logLineChars);
  }
});

test("errors show what happened and why, causes included", () => {
  const cause = Object.assign(new TypeError("bad"), { code: "E1", token: "31d4d96e" });
  const error = new ProviderError("AKP_DISK_FULL", { path: "/data", freeBytes: 0n }, { cause });
  const { stack, ...shownCause } = (show(error) as { cause: Record<string, Plain> }).cause;
  assert.match(String(stack), /^TypeError: bad\n {4}at /);
  assert.deepEqual(shownCause, { name: "TypeError", message: "bad", code: "E1", token: "[redacted]" });
  assert.deepEqual(show(new ProviderError("AKP_DISK_FULL", { path: "/data", freeBytes: 0n })), {
    code: "AKP_DISK_FULL",
    message: "the disk that holds /data is full",
    advice: "Free some room and start again; everything that was acknowledged is safe in the journal.",
    details: { path: "/data", freeBytes: "0" },
  });
  const several = show(new AggregateError([new Error("one"), "two"], "both")) as { errors: { message: string }[] };
  assert.deepEqual([several.errors[0]?.message, several.errors[1]], ["one", "two"]);

  let chain = new Error("root");
  for (let length = 0; length < 50; length += 1) chain = new Error("next", { cause: chain });
  assert.equal(JSON.stringify(show(chain)).split('"name":"Error"').length - 1, logDepth);
});

test("secrets are hidden under their names, whether they are set can be seen", () => {
  assert.deepEqual(
    show({ password: "hunter2", token: 12345, privateKey: new Uint8Array(32), credentials: { host: "x", pass: "y" } }),
    { password: "[redacted]", token: "[redacted]", privateKey: "[redacted]", credentials: "[redacted]" },
  );
  assert.deepEqual(show({ password: "", token: null, secret: false }), { password: "", token: null, secret: false });
  assert.deepEqual(show({ tls: { secretName: "web-tls" }, list: [{ apiKey: "x" }] }), {
    tls: { secretName: "web-tls" },
    list: [{ apiKey: "[redacted]" }],
  });
});

test("names that become the same when masked are all kept, and __proto__ is a name like any other", () => {
  const one = "eyJhbGciOiJFUzI1NksifQ.eyJh.x";
  const two = "eyJhbGciOiJFUzI1NksifQ.eyJh.y";
  assert.deepEqual(show({ [one]: 1, [two]: 2 }), { "[redacted]": 1, "[redacted] (2)": 2 });
  assert.equal(JSON.stringify(show(JSON.parse('{"__proto__":{"a":1}}'))), '{"__proto__":{"a":1}}');
});

test("harmless values come out as they went in", () => {
  const hex = fc.uint8Array({ minLength: 20, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex"));
  const text = fc.oneof(
    hex,
    hex.map((id) => `akash1${id.slice(0, 38)}`),
    fc.constantFrom(
      "nginx:1.27",
      "ghcr.io/a/b@sha256:00ff",
      "https://example.com:8443/a?b=c",
      "512Mi",
      "it's 5 o'clock",
    ),
    // Any signs but those that may announce a secret.
    fc.string({ unit: "binary", maxLength: 40 }).map((any) => any.replace(/[:@-]|eyJ/gi, "")),
  );
  const name = text.filter((any) => !isSecretName(any) && any.length <= 40 && !/^[A-Z]/.test(any));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      text,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((any) => any + 0),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(name, tie("value"), { maxKeys: 5 }),
    ),
  }));
  const property = fc.property(value, (any) => {
    assert.equal(JSON.stringify(show(any)), JSON.stringify(any));
  });
  fc.assert(property, { numRuns: runs(150, 20_000) });
});

test("no value whatever makes it throw, and what comes out is JSON", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withBoxedValues: true,
  });
  const property = fc.property(anything, (value) => {
    const json = JSON.stringify(show(value));
    assert.equal(JSON.stringify(JSON.parse(json)), json);
  });
  fc.assert(property, { numRuns: runs(150, 20_000) });
});

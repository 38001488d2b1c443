/** A secret of each kind, passed through every log call, in every place of it, is never printed. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { ProviderError } from "./errors.ts";
import { createLog, type Fields, type Log } from "./log.ts";
import { logStringChars } from "./plain-value.ts";
import { createRedactor } from "./redact.ts";

interface Secret {
  /** What is logged: a text, or a value whose names give the secret away. */
  readonly carrier: unknown;
  /** None of these may be in the output. */
  readonly needles: readonly string[];
  /** Set when the program has loaded this secret itself. */
  readonly register?: string | Uint8Array;
}

const alphabet = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"];
const letters = (least: number, most: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: least, maxLength: most });
/** Long enough that it cannot turn up by accident, and not made of small letters only. */
const opaque = letters(16, 40).map((text) => `${text}Q7`);
/** With the signs that confuse quoting and splitting; the needle is the part without them. */
const password = fc
  .tuple(opaque, fc.constantFrom("", "'", '"', "\\", "@", "/", "ü €", "\n", "{", "]"))
  .map(([core, sign]) => ({ text: core + sign, core }));
const base64 = fc.uint8Array({ minLength: 60, maxLength: 120 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const url64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

const kinds: Record<string, fc.Arbitrary<Secret>> = {
  "a key in PEM": fc
    .tuple(base64, fc.constantFrom("", "EC ", "RSA ", "ENCRYPTED ", "OPENSSH "), fc.constantFrom("\n", "\\n", "\r\n"))
    .map(([body, type, end]) => keySecret(`${type}PRIVATE KEY`, [body.slice(0, 64), body.slice(64)], end)),
  "an armored Tendermint key": base64.map((body) =>
    keySecret("TENDERMINT PRIVATE KEY", ["kdf: bcrypt", "type: secp256k1", "", body, "=0D4m"], "\n"),
  ),
  "a JWT": fc.tuple(opaque, opaque).map(([payload, signature]) => {
    const [head, body] = [url64({ alg: "ES256K", typ: "JWT" }), url64({ iss: "akash1", jti: payload })];
    return { carrier: `${head}.${body}.${signature}`, needles: [body.slice(0, 12), body.slice(-12), signature] };
  }),
  "the password of a URL": fc
    .tuple(fc.constantFrom("redis", "rediss", "https", "postgres"), fc.constantFrom("", "user"), password)
    .map(([scheme, user, { text, core }]) => ({
      carrier: `${scheme}://${user}:${encodeURIComponent(text)}@host:6379/0`,
      needles: [core],
    })),
  "a loaded key in hex": fc
    .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.constantFrom("hex", "HEX", "base64", "bytes"))
    .map(([key, way]) => {
      const buffer = Buffer.from(key);
      const [hex, encoded] = [buffer.toString("hex"), buffer.toString("base64")];
      const ways: Record<string, unknown> = { hex, HEX: hex.toUpperCase(), base64: encoded, bytes: key };
      return {
        carrier: ways[way],
        register: hex,
        needles: [hex, hex.toUpperCase(), encoded, key.join(",")],
      };
    }),
  "a loaded password": fc
    .tuple(
      fc.string({ unit: "grapheme", minLength: 10, maxLength: 30 }),
      fc.constantFrom("as is", "JSON", "URL", "base64"),
    )
    .filter(([text]) => text.trim() === text && !/^\d*$/.test(text))
    .map(([text, way]) => {
      const json = JSON.stringify(text).slice(1, -1);
      const url = encodeURIComponent(text.toWellFormed());
      const encoded = Buffer.from(text).toString("base64");
      const ways: Record<string, string> = { "as is": text, JSON: json, URL: url, base64: encoded };
      return { carrier: ways[way], register: text, needles: [text, json, url, encoded.slice(0, 12)] };
    }),
  "a password under its name": fc
    .tuple(
      fc.constantFrom(
        ...[
          "password",
          "Password",
          "DB_PASSWORD",
          "passphrase",
          "privateKey",
          "private_key",
          "mnemonic",
          "token",
          "jwt",
        ],
        ...["access-token", "secret", "clientSecret", "authorization", "cookie", "Set-Cookie", "hmac", "credentials"],
        ...["apiKey", "auth", "pass", "passwd"],
      ),
      password,
      fc.constantFrom("text", "bytes", "list", "object", "map"),
    )
    .map(([name, { text, core }, way]) => ({
      carrier: named(name, text, way),
      needles: [core, Buffer.from(text).join(",")],
    })),
  "a tenant's environment": fc
    .tuple(
      fc.array(fc.tuple(fc.constantFrom("A", "DB_URL", "path", "x.y", "NAME"), password), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.constantFrom("list", "objects", "record", "map", "manifest"),
    )
    .map(([variables, way]) => ({
      carrier: environment(
        variables.map(([name, { text }]) => [name, text]),
        way,
      ),
      needles: variables.map(([, { core }]) => core),
    })),
  "credentials of a registry": fc
    .tuple(password, fc.constantFrom("credentials", "docker", "secret"))
    .map(([{ text, core }, way]) => ({ carrier: registry(text, way), needles: [core, core.slice(0, -2)] })),
};

function keySecret(type: string, lines: string[], end: string): Secret {
  const text = [`-----BEGIN ${type}-----`, ...lines, `-----END ${type}-----`].join(end);
  return { carrier: text, needles: lines.filter((line) => line.length > 16).map((line) => line.slice(0, 16)) };
}

function named(name: string, text: string, way: string): unknown {
  const ways: Record<string, () => unknown> = {
    text: () => ({ [name]: text }),
    bytes: () => ({ [name]: new Uint8Array(Buffer.from(text)) }),
    list: () => ({ [name]: [text, text] }),
    object: () => ({ [name]: { inner: text } }),
    map: () => new Map([[name, text]]),
  };
  return ways[way]?.();
}

function environment(variables: readonly (readonly [string, string])[], way: string): unknown {
  const list = variables.map(([name, value]) => `${name}=${value}`);
  const ways: Record<string, () => unknown> = {
    list: () => ({ env: list }),
    objects: () => ({ env: variables.map(([name, value]) => ({ name, value })) }),
    record: () => ({ env: Object.fromEntries(variables) }),
    map: () => ({ environment: new Map(variables) }),
    manifest: () => [{ name: "group", services: [{ name: "web", image: "nginx", env: list }] }],
  };
  return ways[way]?.();
}

function registry(text: string, way: string): unknown {
  const auths = { "ghcr.io": { auth: Buffer.from(`me:${text}`).toString("base64"), username: "me", password: text } };
  const ways: Record<string, () => unknown> = {
    credentials: () => ({ credentials: { host: "ghcr.io", username: "me", password: text } }),
    docker: () => ({ auths }),
    secret: () => ({ kind: "Secret", data: { ".dockerconfigjson": url64({ auths }) }, stringData: { x: text } }),
  };
  return ways[way]?.();
}

/** Where a value may be inside another one. */
const wrappers: readonly ((inner: unknown) => unknown)[] = [
  (inner) => inner,
  (inner) => ({ inner }),
  (inner) => [1, inner, "two"],
  (inner) => new Map([["inner", inner]]),
  (inner) => new Map([[inner, 1]]),
  (inner) => new Set([inner]),
  (inner) => Object.assign(Object.create(null), { inner }),
  (inner) => ({
    get inner() {
      return inner;
    },
  }),
  (inner) => ({ toJSON: () => ({ inner }) }),
  (inner) => new Error("failed", { cause: inner }),
  (inner) => Object.assign(new TypeError("failed"), { response: inner }),
  (inner) => new AggregateError([inner, new Error("other")]),
  (inner) => new ProviderError("AKP_DISK_FULL", { path: "/data", inner }),
  (inner) => ({ inner: Object(inner) }),
];

/** Where a text may be inside another one. */
const texts: readonly ((text: string) => unknown)[] = [
  (text) => ({ [text]: 1 }),
  (text) => new Error(`it failed: ${text}`),
  (text) => new Error("outer", { cause: new Error(text) }),
  (text) => new ProviderError("AKP_INTERNAL", { reason: text }),
  (text) => `got "${text}" from it`,
  (text) => `${"filler, ".repeat(logStringChars / 8 - 2)}${text}`,
  (text) => Symbol(text),
  (text) => ({ list: [text, text] }),
  (text) => JSON.stringify({ inner: text }),
];

type Call = (log: Log, level: "debug" | "info" | "error", value: unknown) => void;

/** Where a value may be in a log call. */
const calls: readonly Call[] = [
  (log, level, value) => log[level]("it happened", { value }),
  (log, level, value) => log[level]("it happened", value as Fields),
  (log, level, value) => log.with({ value })[level]("it happened"),
  (log, level, value) =>
    log
      .with({ module: "bus" })
      .with(value as Fields)
      [level]("it happened", { value }),
  (log, level, value) => log.with({ module: value })[level]("it happened"),
  (log, level, value) => log[level](typeof value === "string" ? `it happened: ${value}` : (value as string)),
  (log, level, value) => log[level]("it happened", { error: value, a: [{ b: value }] }),
];

const inside = fc.array(fc.nat(wrappers.length - 1), { maxLength: 5 });

/** Bytes are compared without the spaces between them. */
function isPrinted(needle: string, output: string): boolean {
  return (/^[\d,]+$/.test(needle) ? output.replace(/\s/g, "") : output).includes(needle);
}

function assertNotPrinted({ needles }: Secret, output: string): void {
  const printed = needles.filter((needle) => isPrinted(needle, output));
  assert.deepEqual(printed, [], output.slice(0, 4_000));
}

/** A destination that keeps what is written to it. */
function createPaper() {
  const lines: string[] = [];
  return { write: (line: string) => void lines.push(line), lost: 0, lines };
}

for (const [kind, secrets] of Object.entries(kinds)) {
  test(`${kind} is never printed, whatever call it is passed through`, () => {
    const how = fc.record({
      secret: secrets,
      path: inside,
      text: fc.option(fc.nat(texts.length - 1)),
      call: fc.nat(calls.length - 1),
    });
    const property = fc.property(how, ({ secret, path, text, call }) => {
      const put = text === null ? undefined : texts[text];
      const held = put && typeof secret.carrier === "string" ? put(secret.carrier) : secret.carrier;
      const value = path.reduce<unknown>((inner, index) => wrappers[index]?.(inner), held);
      for (const format of ["plain", "json"] as const) {
        const destination = createPaper();
        const redactor = createRedactor();
        const log = createLog({ level: "debug", format, destination, redactor });
        if (secret.register) redactor.register(secret.register);
        for (const level of ["debug", "info", "error"] as const) calls[call]?.(log, level, value);
        assert.equal(destination.lines.length, 3);
        assertNotPrinted(secret, destination.lines.join(""));
      }
    });
    fc.assert(property, { numRuns: runs(60, 1_000) });
  });
}

test("the check would see every one of these secrets, were it printed", () => {
  for (const [kind, secrets] of Object.entries(kinds)) {
    for (const secret of fc.sample(secrets, 50)) {
      const { carrier } = secret;
      const printed = typeof carrier === "string" ? carrier : inspect(carrier, { depth: null, maxArrayLength: null });
      assert.throws(() => assertNotPrinted(secret, printed), `${kind}: ${printed}`);
    }
  }
});

test("a secret that is registered later is masked also in fields that were set before", () => {
  const redactor = createRedactor();
  const destination = createPaper();
  const log = createLog({ destination, redactor }).with({ id: "31d4d96e0af5", nested: { id: "31d4d96e0af5" } });
  const child = log.with({ module: "bus" });
  redactor.register("31d4d96e0af5");
  log.info("one");
  child.info("two");
  assert.deepEqual(destination.lines, [
    'INFO  one id=[redacted] nested={"id":"[redacted]"}\n',
    'INFO  bus: two id=[redacted] nested={"id":"[redacted]"}\n',
  ]);
});

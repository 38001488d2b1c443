import assert from "node:assert/strict";
import { test } from "node:test";
import { base64, createAuthStage, makeToken, newSigner } from "../../../test/support/stages/auth-stage.ts";
import { bearerToken, readClaims, readToken } from "./token.ts";

const signer = newSigner();
const invalid = { status: 401, message: "JWT is invalid" };

test("authorization header: scheme in any case, one token", () => {
  for (const header of [undefined, ""]) assert.equal(bearerToken(header), undefined);
  for (const header of ["Bearer x", "bearer x", "BEARER \t x", "  Bearer x "]) assert.equal(bearerToken(header), "x");
  for (const header of ["x", "Bearer", "Bearer x y", "Basic x", "Bearer,x", "Bearer: x", " ", "Bearer\u00a0x"]) {
    assert.throws(() => bearerToken(header), { status: 400, message: "invalid authorization header" }, header);
  }
});

test("token in non-canonical base64 → invalid", () => {
  const token = makeToken(signer, {});
  const [header, payload, signature = ""] = token.split(".");
  assert.equal(readToken(token).signature.length, 64);
  // The last character of 64 bytes has four bits that belong to none.
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(signature.slice(-1));
  for (const bits of [1, 2, 4, 8, 15]) {
    const other = `${header}.${payload}.${signature.slice(0, -1)}${alphabet[last ^ bits]}`;
    assert.throws(() => readToken(other), invalid);
  }
  for (const other of [
    `${token}==`,
    `${token}\n`,
    `${token}.`,
    `${header}.${payload}`,
    `${header}.${payload}.`,
    "..",
  ]) {
    assert.throws(() => readToken(other), invalid, other);
  }
});

test("what is no JSON object, or has more behind it, is no part of a token", () => {
  for (const payload of ["", "x", "null", "[]", "1", '"x"', "{} {}", '{"a":', `{"a":${"[".repeat(100)}`, "{}x"]) {
    assert.throws(() => readToken(makeToken(signer, payload)), invalid, payload);
  }
  for (const header of [
    "null",
    "[]",
    '{"alg":["ES256K"]}',
    '{"ALG":"ES256K"}',
    '{"alg":"toString"}',
    '{"__proto__":{"alg":"ES256K"}}',
  ]) {
    assert.throws(() => readToken(`${base64(header)}.${base64("{}")}.${base64("x")}`), invalid, header);
  }
});

const stage = createAuthStage();
const { provider } = stage;
const other = newSigner().address;

function read(claims: Readonly<Record<string, unknown>> | string) {
  return readClaims(readToken(makeToken(stage.tenant, claims)).claims, provider);
}

function granted(leases: unknown) {
  return read(stage.claims({ leases })).grant;
}

const deployment = { dseq: 7, scope: ["status"], services: ["web"] };

test("permissions for other providers grant nothing, but must be valid", () => {
  const full = { provider: other, access: "full" };
  assert.deepEqual(granted({ access: "granular", permissions: [full] }), { access: "none" });
  const ours = { provider, access: "scoped", scope: ["logs"] };
  const scopes = new Set(["logs"]);
  assert.deepEqual(granted({ access: "granular", permissions: [full, ours] }), { access: "scoped", scopes });
  const nonsense = { provider: other, access: "scoped", scope: [] };
  assert.throws(() => granted({ access: "granular", permissions: [ours, nonsense] }), { status: 400 });
});

test("a deployment's numbers are read whole, however large", () => {
  const claims = JSON.stringify(
    stage.claims({
      leases: { access: "granular", permissions: [{ provider, access: "granular", deployments: [deployment] }] },
    }),
  );
  const numbers = (dseq: string) => {
    const { grant } = read(claims.replace('"dseq":7', `"dseq":${dseq}`));
    return grant.access === "granular" && grant.deployments[0]?.dseq;
  };
  assert.equal(numbers("18446744073709551615"), 18_446_744_073_709_551_615n);
  assert.equal(numbers("9007199254740993"), 9_007_199_254_740_993n);
  for (const wrong of ["18446744073709551616", "-1", "1.5", "7e0", "7.0", '"7"', "[7]", "{}", "true"]) {
    assert.throws(() => numbers(wrong), { status: 401, message: "JWT is invalid" }, wrong);
  }
  for (const none of ["0", "null"]) assert.throws(() => numbers(none), { status: 400 }, none);
});

test("unknown scopes grant nothing, known ones still apply", () => {
  const scopes = new Set(["status"]);
  assert.deepEqual(granted({ access: "scoped", scope: ["status", "fly", "toString"] }), { access: "scoped", scopes });
  assert.deepEqual(granted({ access: "scoped", scope: ["fly"] }), { access: "scoped", scopes: new Set() });
  assert.throws(() => granted({ access: "scoped", scope: ["fly", "fly"] }), { status: 400 });
});

test("what is of the wrong type makes the token invalid, before anything that makes no sense", () => {
  const wrong: Readonly<Record<string, unknown>>[] = [
    { iss: 7 },
    { iss: null },
    { version: 1 },
    { leases: [] },
    { leases: { access: ["full"] } },
    { leases: { access: "scoped", scope: "status" } },
    { leases: { access: "scoped", scope: [1] } },
    { leases: { access: "granular", permissions: {} } },
    { leases: { access: "granular", permissions: ["full"] } },
    { leases: { access: "full", permissions: [{ provider: "x" }] } },
    { exp: "soon" },
    { exp: "" },
    { exp: "0x10" },
    { exp: true },
    { nbf: [1] },
    { iat: {} },
  ];
  for (const claims of wrong) {
    const all = stage.claims({ version: "v2", ...claims });
    assert.throws(() => read(all), { status: 401, message: "JWT is invalid" }, JSON.stringify(claims));
  }
});

test("times have no end that we could not reckon with", () => {
  const text = (exp: string) => JSON.stringify(stage.claims({ exp: 1 })).replace('"exp":1', `"exp":${exp}`);
  assert.equal(read(text("1e10")).untilMs, 1e13);
  assert.equal(read(text("-1")).untilMs, -1_000);
  assert.throws(() => read(text("1e999")), { status: 401 });
});

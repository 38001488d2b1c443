/** What the network's gateway said to every token that it was recorded with, asked of ours with keys of ours. */
import assert from "node:assert/strict";
import { type AuthStage, createAuthStage, newSigner } from "../../../test/auth-stage.ts";
import { isAllowed, type MatrixRow, type RecordedToken, tokenOf } from "../../../test/recorded-tokens.ts";
import { readJsonVector, vectorTest } from "../../../test/vectors.ts";
import type { Identity } from "./identity.ts";

interface Vector {
  readonly name: string;
  readonly request?: {
    readonly path: string;
    readonly headers?: readonly (readonly [name: string, value: string])[];
    readonly auth: string;
  };
  readonly answer?: { readonly status?: number; readonly body?: unknown };
  readonly token?: RecordedToken;
  readonly matrix?: readonly MatrixRow[];
}

interface File {
  readonly volatile: Readonly<Record<string, string>>;
  readonly vectors: readonly Vector[];
}

const read = () => readJsonVector<File>("gateway/auth.json");
const lease = { dseq: 4_100_001n, gseq: 1, oseq: 1 };

/** Ours to the lease's status, where it is meant to differ. */
const intended: Readonly<Record<string, readonly [ours: string, why: string]>> = {
  expired: ["401 JWT is expired", "the catalogue's own text, which the network's provider means and cannot reach"],
  "expired one second ago": ["401 JWT is expired", "the same"],
  "expired, public route": ["401 JWT is expired", "the same"],
  "exp before nbf": ["401 JWT is expired", "the same"],
  "expired and signature wrong": ["401 JWT is expired", "what costs nothing is looked at before the signature"],
  "leases: scoped, unknown scope": ["allowed", "scopes of newer tools are ignored"],
  "permission: scoped, unknown scope": ["not allowed", "the same; nothing that we know is left"],
  "iss account without public key": ["401 JWT is invalid", "the network's provider drops the connection"],
};

vectorTest("every recorded token is answered as it was, but for what is meant to differ", async () => {
  const { volatile, vectors } = read();
  const seen = new Set<string>();
  for (const { name, request, answer, token } of vectors) {
    if (!token || !request) continue;
    const stage = recordedStage(volatile);
    // The recording shows both alike.
    const timesAre = name === "times as strings" ? "strings" : "numbers";
    const text = tokenOf({ ...token, timesAre }, stage.signers, stage.clock.now(), stage.translate);
    const ours = await statusFor(stage, `Bearer ${text}`);
    const recorded = intended[name]?.[0] ?? recordedAnswer(answer);
    assert.equal(ours, recorded, name);
    seen.add(name);
  }
  assert.deepEqual(
    Object.keys(intended).filter((name) => !seen.has(name)),
    [],
  );
  assert.equal(seen.size, 79);
});

vectorTest("every recorded Authorization header is answered as it was", async () => {
  const { volatile, vectors } = read();
  let count = 0;
  for (const { name, request, answer, token } of vectors) {
    const headers = request?.headers?.filter(([header]) => header === "Authorization");
    if (
      token ||
      !headers?.length ||
      request?.auth.startsWith("mTLS") ||
      answer?.status === 404 ||
      answer?.status === 405
    )
      continue;
    const stage = recordedStage(volatile);
    const good = tokenOf(goodToken(volatile), stage.signers, stage.clock.now(), stage.translate);
    const ours = await statusFor(stage, headers[0]?.[1].replace("<token>", good).trim() ?? "");
    const isPublic = request?.path === "/address";
    assert.equal(isPublic && ours === "not allowed" ? "allowed" : ours, recordedAnswer(answer), name);
    count += 1;
  }
  assert(count > 20);
});

vectorTest("each recorded kind of token opens what it opened, but for what nobody checked", async () => {
  const { volatile, vectors } = read();
  const rows = vectors.find(({ matrix }) => matrix)?.matrix ?? [];
  let differing = 0;
  for (const { token, leases, answers } of rows) {
    const stage = recordedStage(volatile);
    const recorded = { ...goodToken(volatile), claims: { ...goodToken(volatile).claims, leases } };
    const text = tokenOf(recorded, stage.signers, stage.clock.now(), stage.translate);
    const identity = (await stage.askWithToken(text)) as Identity;
    for (const [route, answer] of Object.entries(answers)) {
      const ours = isAllowed(identity, route, lease);
      if (answer === 401) assert.equal(ours, false, `${token}: ${route}`);
      else if (!ours) {
        assert.match(route, /\/migrate$|\/service\/\w+\/status$|service=api/, `${token}: ${route}`);
        differing += 1;
      }
    }
  }
  assert.equal(rows.length, 22);
  // Scopes of migrations and of a service's status, and the services of a token: the network's provider checks none.
  assert.equal(differing, 67);
});

function recordedStage(volatile: Readonly<Record<string, string>>) {
  const stage = createAuthStage();
  const fresh = newSigner();
  stage.keys.set(fresh.address, { kind: "none", why: "it has never signed" });
  const others = { other_provider: newSigner(), tenant2: stage.stranger, fresh_account: fresh };
  const ours: Record<string, string> = {
    ...{ tenant1: stage.tenant.address, provider: stage.provider },
    ...Object.fromEntries(Object.entries(others).map(([name, { address }]) => [name, address])),
  };
  const translate = (text: string) =>
    Object.entries(ours).reduce((read, [name, mine]) => read.replaceAll(volatile[name] ?? name, mine), text);
  const signers = {
    ...{ tenant1: stage.tenant, other: stage.stranger },
    "account with funds, no transaction yet (no public key on chain)": fresh,
  };
  return Object.assign(stage, { translate, signers });
}

function goodToken({ tenant1 }: Readonly<Record<string, string>>): RecordedToken {
  const times = { iat: "now+0", nbf: "now+0", exp: "now+900" };
  return {
    header: { alg: "ES256K", typ: "JWT" },
    claims: { iss: tenant1, ...times, version: "v1", leases: { access: "full" } },
    signedBy: "tenant1",
  };
}

async function statusFor(stage: AuthStage, authorization: string): Promise<string> {
  const answer = await stage.ask({ authorization });
  if (typeof answer === "string") return answer;
  return answer.mayUseLease(lease, "status") ? "allowed" : "not allowed";
}

function recordedAnswer(answer: Vector["answer"]): string {
  if (answer?.status === 200) return "allowed";
  const { message } = JSON.parse(`${answer?.body}`) as { message: string };
  return message === "unauthorized access" ? "not allowed" : `${answer?.status} ${message}`;
}

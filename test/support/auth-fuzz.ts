/** Credentials that are nearly good: tokens, headers and certificates with something changed in them. */
import type { CallerCredentials } from "../../src/gateway/auth/identity.ts";
import type { Random } from "../../src/runtime/random.ts";
import { type AuthStage, base64, makeToken } from "./stages/auth-stage.ts";

export interface Forger {
  /** None of these may be let in. */
  next(): Partial<CallerCredentials>;
}

/** Whose credentials are changed. */
type People = Pick<AuthStage, "tenant" | "otherTenant" | "claims" | "certificate">;

export function createForger(stage: People, random: Random): Forger {
  const granular = { access: "scoped", scope: ["status"] };
  const good = [
    makeToken(stage.tenant, stage.claims()),
    makeToken(stage.tenant, stage.claims({ leases: granular })),
    makeToken(stage.tenant, stage.claims(), { alg: "ES256KADR36" }),
    makeToken(stage.otherTenant, stage.claims({ iss: stage.otherTenant.address })),
  ];
  const certificates = [stage.tenant, stage.otherTenant].map(({ address }) => Buffer.from(stage.certificate(address)));
  const unpublished = Buffer.from(stage.certificate(stage.tenant.address, { isPublished: false }));

  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)] as T;

  function changed(text: string): string {
    const at = random.int(text.length + 1);
    const sign = pick([pick([...signs]), String.fromCharCode(random.int(256))]);
    return pick([
      () => text.slice(0, at) + sign + text.slice(at + 1),
      () => text.slice(0, at) + sign + text.slice(at),
      () => text.slice(0, at) + text.slice(at + 1 + random.int(4)),
      () => text.slice(0, at) + text.slice(random.int(text.length)),
      () => text.slice(0, at),
      () => text + text.slice(at),
      () => pick([text.toUpperCase(), text.toLowerCase(), "", text.repeat(40), [...text].reverse().join("")]),
    ])();
  }

  /** Other claims or another header under a signature that is somebody's. */
  function grafted(): string {
    const [header = "", payload = "", signature = ""] = pick(good).split(".");
    const decoded = (part: string) => Buffer.from(part, "base64url").toString();
    const [otherHeader = "", otherPayload = "", otherSignature = ""] = pick(good).split(".");
    return pick([
      () => `${base64(changed(decoded(header)))}.${payload}.${signature}`,
      () => `${header}.${base64(changed(decoded(payload)))}.${signature}`,
      () =>
        `${header}.${base64(decoded(payload).replace(stage.tenant.address, stage.otherTenant.address))}.${signature}`,
      () => `${header}.${base64(decoded(payload).replace(/"exp":\d+/, '"exp":9999999999'))}.${signature}`,
      () => `${otherHeader}.${payload}.${signature}`,
      () => `${header}.${otherPayload}.${signature}`,
      () => `${header}.${payload}.${otherSignature}`,
      () => `${header}.${payload}.${base64(random.bytes(pick([0, 1, 63, 64, 64, 64, 65, 72])))}`,
      () => `${base64(JSON.stringify({ alg: pick(algorithms), typ: "JWT" }))}.${payload}.${pick([signature, ""])}`,
      // Rightly signed, in the name of another.
      () => makeToken(stage.otherTenant, stage.claims({ nonce: random.int(1_000) }), { alg: pick(algorithms) }),
    ])();
  }

  function changedBytes(bytes: Buffer): Buffer {
    const at = random.int(bytes.length);
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] ?? 0) ^ (1 << random.int(8));
    return pick([
      () => copy,
      () => copy,
      () => bytes.subarray(0, at),
      () => Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.int(8)), bytes.subarray(at)]),
      () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(random.int(bytes.length))]),
      () => Buffer.concat([bytes, bytes]),
      () => Buffer.from(random.bytes(random.int(64))),
      () => unpublished,
    ])();
  }

  function make(): Partial<CallerCredentials> {
    const kind = random.int(10);
    if (kind < 4) return { authorization: `Bearer ${changed(pick(good))}` };
    if (kind < 7) return { authorization: `Bearer ${grafted()}` };
    if (kind < 8) return { authorization: changed(`Bearer ${pick(good)}`) };
    if (kind < 9) return { certificates: [changedBytes(pick(certificates))] };
    return { certificates: [pick(certificates), changedBytes(pick(certificates))], authorization: changed(pick(good)) };
  }

  /** What was changed so that it is as good as before: more space, another case of a word, the very same. */
  function isGood({ authorization = "", certificates: presented = [] }: Partial<CallerCredentials>): boolean {
    const [, token] = /^\s*bearer[ \t]+(\S+)\s*$/i.exec(authorization) ?? [];
    if (token !== undefined && presented.length === 0) return good.includes(token);
    return (
      authorization === "" && presented.length === 1 && certificates.some((each) => each.equals(presented[0] ?? each))
    );
  }

  return {
    next() {
      for (;;) {
        const forged = make();
        if (!isGood(forged)) return forged;
      }
    },
  };
}

const signs = 'ABCxyz019-_.=+/ \t\n{}[]",:';
const algorithms = ["ES256K", "ES256KADR36", "none", "HS256", "ES256", "", "es256k"];

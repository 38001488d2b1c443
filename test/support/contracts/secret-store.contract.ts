/** What the Secret of our certificates must hold to, on every API server. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { makeCertificate } from "../../../src/chain/certificates/make-certificate.ts";
import { createSecretStore } from "../../../src/gateway/certificate/certificate-store.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import { parseAddress } from "../../../src/market/address.ts";

interface SecretServer {
  readonly name: string;
  readonly skip?: string | false;
  readonly namespace: string;
  open(t: TestContext): Kube;
}

const owner = parseAddress("akash1pzhdmwnzzscqes69qjuk46e8tq2wtcd2h68uhz");
const times = { fromMs: Date.UTC(2026, 10, 16), untilMs: Date.UTC(2027, 10, 16) };

function make(serial: bigint) {
  const { certificate, key } = makeCertificate({ owner, hosts: ["a.example"], isServer: true, serial, ...times });
  return { certificate, key };
}

export function checkSecretStore({ name, skip = false, namespace, open }: SecretServer): void {
  test(`${name}: certificates and keys come back as they were kept, and nobody's are overwritten unseen`, {
    skip,
  }, async (t) => {
    const { signal } = new AbortController();
    const [store, other] = [createSecretStore(open(t), namespace, owner), createSecretStore(open(t), namespace, owner)];
    const [first, second] = [make(2n ** 60n + 1n), make(7n)];
    const nothing = await store.read(signal);
    assert.deepEqual(nothing, { certificates: [], version: undefined });
    await store.write([first], nothing, signal);
    await assert.rejects(other.write([second], nothing, signal), { code: "AKP_KUBE_EXISTS" });
    const seen = await store.read(signal);
    assert.deepEqual(seen.certificates, [first]);
    await other.write([first, second], await other.read(signal), signal);
    await assert.rejects(store.write([], seen, signal), { code: "AKP_KUBE_CONFLICT" });
    const both = await store.read(signal);
    assert.equal(both.certificates.length, 2);
    await store.write([second], both, signal);
    assert.deepEqual((await other.read(signal)).certificates, [second]);
  });
}

/** With a stubbed chain; with a real node: test/gateway/known-accounts.test.ts. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import type { CertificateResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { advanceUntilSettled } from "../../../test/support/advance-until-settled.ts";
import { runs } from "../../../test/support/runs.ts";
import { unlimitedLookups } from "../../../test/support/unlimited-lookups.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import type { ChainBlock } from "../../chain/block.ts";
import { makeCertificate } from "../../chain/certificates/make-certificate.ts";
import type { Chain, Queries } from "../../chain/chain.ts";
import { addressOf } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import {
  createChainCertificates,
  gatewayCertificateMs,
  gatewayLookupTries,
  gatewayMissingMs,
  gatewaySilenceMs,
  gatewayUnknownAccounts,
} from "./chain-certificates.ts";
import { createLookups, type Lookups } from "./lookups.ts";

const owner = addressOf(new Uint8Array(20).fill(3));
const times = { serial: 7n, fromMs: 0, untilMs: 2_000_000_000_000 };
const { certificate, publicKey } = makeCertificate({ owner, hosts: [], isServer: false, ...times });
const listed = {
  serial: "7",
  certificate: { state: 1, cert: Buffer.from(certificate), pubkey: Buffer.from(publicKey) },
} as CertificateResponse;

/** Returned from the last to the first; then the valid certificate. */
type Answer = { readonly items: readonly CertificateResponse[]; readonly height: bigint } | ProviderError;

function onStage(lookups?: Lookups) {
  const clock = createVirtualClock();
  const stage = { height: 10n, answers: [] as Answer[], queries: 0 };
  const ask = async (): Promise<Awaited<ReturnType<Queries["certificates"]>>> => {
    stage.queries += 1;
    const answer = stage.answers.pop() ?? { items: [listed], height: stage.height };
    if (answer instanceof Error) throw answer;
    return { ...answer, steady: true, node: "a node" };
  };
  const mirror = {
    get height() {
      return stage.height;
    },
  };
  const chain = { queries: { certificates: ask }, mirror } as unknown as Pick<Chain, "queries" | "mirror">;
  const known = createChainCertificates({ chain, lookups: lookups ?? createLookups(clock), clock, log: silentLog });
  const find = (serial = 7n) => known.certificateOf(owner, serial, "192.0.2.7");
  function block(certificatesOf: readonly string[] = []): void {
    stage.height += 1n;
    const made = { height: stage.height, certificatesOf: new Set(certificatesOf) } as unknown as ChainBlock;
    known.onStep({ block: made, changed: [] });
  }
  return { clock, stage, known, find, block };
}

const silence = () => new ProviderError("AKP_CHAIN_NO_ENDPOINT", { what: "abci_query", reasons: "none" });

test("cached certificate is returned at once, other accounts' blocks do not evict it", async () => {
  const { stage, find, block } = onStage();
  await find();
  block();
  block(["akash1somebodyelse"]);
  assert.ok(find() instanceof Uint8Array);
  assert.equal(stage.queries, 1);
});

test("missed blocks → confirmed again; counts unconfirmed only if the chain does not answer", async () => {
  const { clock, stage, known, find, block } = onStage();
  await find();
  known.onStep({ gap: { from: 11n, to: 15n }, changed: [] });
  stage.answers = Array.from({ length: gatewayLookupTries }, silence);
  stage.height = 15n;
  assert.ok((await advanceUntilSettled(clock, Promise.resolve(find()))) instanceof Uint8Array);
  assert.ok(find() instanceof Uint8Array, "not queried again at once");
  await clock.advance(gatewaySilenceMs);
  stage.answers = [{ items: [], height: 15n }];
  assert.ok(find() instanceof Uint8Array, "queried in the background");
  await clock.settle();
  assert.equal(await find(), undefined);
  await clock.advance(gatewayMissingMs);
  assert.ok((await find()) instanceof Uint8Array);
  // While old blocks are replayed, their certificate events are late.
  stage.height = 30n;
  known.onStep({ block: { height: 16n, certificatesOf: new Set() } as unknown as ChainBlock, changed: [] });
  assert.ok(find() instanceof Promise);
  block();
});

test("chain hangs → only the first request waits; then the cached certificate counts at once", async () => {
  const { clock, stage, known, find } = onStage();
  await find();
  known.onStep({ gap: { from: 11n, to: 15n }, changed: [] });
  stage.answers = Array.from({ length: 1_000 }, silence);
  stage.height = 15n;
  assert.ok((await advanceUntilSettled(clock, Promise.resolve(find()))) instanceof Uint8Array);
  const before = stage.queries;
  for (let seconds = 0; seconds < 60; seconds += 1) {
    await clock.advance(1_000);
    assert.ok(find() instanceof Uint8Array, `after ${seconds} s`);
  }
  assert.ok(stage.queries > before, "queried in the background");
  known.onStep({ gap: { from: 16n, to: 20n }, changed: [] });
  assert.ok(find() instanceof Promise, "more blocks are lost");
});

test("lease owner's confirmation is not delayed by a flood from the same source", async () => {
  const { clock, stage, known, find } = onStage();
  known.keep(owner, [{ serial: "7", der: new X509Certificate(certificate).raw }], 0n);
  for (let serial = 100n; serial < 400n; serial += 1n) Promise.resolve(find(serial)).catch(() => undefined);
  await clock.settle();
  stage.answers = [{ items: [], height: 10n }];
  assert.equal(await find(), undefined, "revoked while we were away");
});

test("response older than the last change → retried, then AKP_CHAIN_SILENT", async () => {
  const { clock, stage, find, block } = onStage();
  block([owner]);
  stage.answers = [
    { items: [], height: 11n },
    { items: [listed], height: 10n },
  ];
  assert.equal(await advanceUntilSettled(clock, Promise.resolve(find())), undefined);
  assert.equal(stage.queries, 2);
  block([owner]);
  stage.answers = Array.from({ length: gatewayLookupTries }, () => ({ items: [listed], height: 11n }));
  const never = advanceUntilSettled(clock, Promise.resolve(find()));
  await assert.rejects(never, { code: "AKP_CHAIN_SILENT" });
});

test("response of a node behind the start height → retried", async () => {
  const { clock, stage, find } = onStage();
  stage.answers = [
    { items: [], height: 10n },
    { items: [listed], height: 5n },
  ];
  assert.equal(await advanceUntilSettled(clock, Promise.resolve(find())), undefined);
  assert.equal(stage.queries, 2);
});

test("certificate in use is refreshed in the background", async () => {
  const { clock, stage, find } = onStage();
  await find();
  await clock.advance(gatewayCertificateMs + 1);
  stage.answers = [{ items: [], height: 10n }];
  assert.ok(find() instanceof Uint8Array);
  await clock.settle();
  assert.equal(await find(), undefined);
  assert.equal(stage.queries, 2);
});

test("serial out of range → no look-up; response with another serial → ignored", async () => {
  const { stage, find } = onStage();
  assert.equal(find(-1n), undefined);
  assert.equal(find(1n << 160n), undefined);
  assert.equal(stage.queries, 0);
  assert.equal(await find(8n), undefined);
  assert.equal(stage.queries, 1);
});

test("certificate cache is bounded", async () => {
  const { stage, known } = onStage(unlimitedLookups);
  const count = runs(4_200, 100_000);
  stage.answers = Array.from({ length: count }, () => ({ items: [], height: 10n }));
  for (let serial = 0n; serial < count; serial += 1n) await known.certificateOf(owner, serial, "192.0.2.7");
  assert.deepEqual([stage.queries, known.size], [count, gatewayUnknownAccounts]);
});

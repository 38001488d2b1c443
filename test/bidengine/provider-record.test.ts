/** What the chain has of us, followed on an embedded node. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MsgDeleteProviderAttributes, MsgSignProviderAttributes } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgUpdateProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { type FollowedProviderRecord, followProviderRecord } from "../../src/bidengine/provider-record.ts";
import type { Attribute } from "../../src/market/group-spec.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import {
  providerAddress,
  providerKey,
  rivalAddress,
  rivalKey,
  startMarketChain,
  tenantAddress,
} from "../support/market-chain.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { Message } from "../support/stages/market-stage.ts";
import { watch } from "../support/stages/mirror-stage.ts";

const lab: Attribute = { key: "region", value: "lab" };
const fast: Attribute = { key: "tier", value: "fast" };

interface Following {
  readonly configured?: readonly Attribute[];
  readonly provider?: typeof providerAddress;
}

async function follow(t: TestContext, { configured = [lab], provider = providerAddress }: Following = {}) {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  let record: FollowedProviderRecord | undefined;
  const { chain } = await watch(t, market, { urls: [proxy.url], listener: (step) => record?.onStep(step) });
  const deps = { clock: realClock, random: createSeededRandom(1), log: silentLog };
  record = followProviderRecord(configured, { chain: { queries: chain.queries, provider }, ...deps });
  const abort = new AbortController();
  const running = record.run(abort.signal);
  t.after(async () => {
    abort.abort();
    await running;
  });
  return { market, proxy, record };
}

const entryWith = (attributes: Attribute[]): Message => ({
  typeUrl: "/akash.provider.v1beta4.MsgUpdateProvider",
  value: MsgUpdateProvider.encode(
    MsgUpdateProvider.fromPartial({ owner: providerAddress, hostUri: "https://provider.test:8443", attributes }),
  ).finish(),
});

test("what we publish is followed as it changes, and a difference from provider.yaml says register", async (t) => {
  const { market, record } = await follow(t, { configured: [lab] });
  assert.equal(record.current.state, "unknown");
  await eventually("the entry was read", () => record.current.state === "registered");
  assert.deepEqual(record.current.attributes, [lab]);
  assert.equal(record.error, undefined);
  assert.deepEqual(record.params?.minDeposits, [
    { denom: "uact", amount: 500_000n },
    { denom: "uakt", amount: 500_000n },
  ]);
  let changes = 0;
  record.onChange(() => {
    changes += 1;
  });
  await market.act(providerKey, entryWith([fast]));
  await eventually("the new entry", () => record.current.attributes[0]?.key === "tier");
  assert.equal(changes, 1);
  assert.equal(
    record.error,
    "the chain has other attributes of us than provider.yaml (it lacks region=lab; it has tier=fast besides): run akash-provider register",
  );
});

test("an auditor's signature counts from the block that holds it, until it is taken back", async (t) => {
  const { market, record } = await follow(t);
  await eventually("the entry was read", () => record.current.state === "registered");
  assert.equal(record.current.audited.size, 0);
  const about = { owner: providerAddress, auditor: rivalAddress };
  const signature = MsgSignProviderAttributes.fromPartial({ ...about, attributes: [lab] });
  const value = MsgSignProviderAttributes.encode(signature).finish();
  await market.act(rivalKey, { typeUrl: "/akash.audit.v1.MsgSignProviderAttributes", value });
  await eventually("the signature", () => record.current.audited.get(rivalAddress));
  assert.deepEqual(record.current.audited.get(rivalAddress), [lab]);
  const back = MsgDeleteProviderAttributes.encode(MsgDeleteProviderAttributes.fromPartial(about)).finish();
  await market.act(rivalKey, { typeUrl: "/akash.audit.v1.MsgDeleteProviderAttributes", value: back });
  await eventually("the signature is gone", () => record.current.audited.size === 0);
});

test("provider not registered → the error names the register command", async (t) => {
  const { record } = await follow(t, { provider: tenantAddress });
  await eventually("the entry was read", () => record.current.state === "not registered");
  assert.equal(record.error, "we are not registered on the chain: run akash-provider register");
});

test("queries fail → the last record stays, with its age and the reason", async (t) => {
  const { market, proxy, record } = await follow(t);
  await eventually("the entry was read", () => record.current.state === "registered");
  proxy.fault = (method) => (method === "abci_query" ? "cut" : undefined);
  record.onStep({ changed: [{ kind: "provider", key: providerAddress }] });
  await eventually("the error", () => record.error);
  assert.match(record.error ?? "", /^what the chain has of us cannot be read: /);
  assert.deepEqual(record.current.attributes, [lab]);
  assert.ok((record.ageMs ?? 0) > 0);
  proxy.fault = () => undefined;
  record.onStep({ changed: [], gap: { from: 1n, to: market.node.height } });
  await eventually("it is read again", () => record.error === undefined);
  proxy.fault = (method) => (method === "abci_query" ? "cut" : undefined);
  record.refresh();
  await eventually("it was looked at", () => record.error);
});

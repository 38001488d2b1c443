/** What the chain has of us, followed on an embedded node. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MsgDeleteProviderAttributes, MsgSignProviderAttributes } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgUpdateProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { type FollowedProviderRecord, followProviderRecord } from "../src/bidengine/provider-record.ts";
import type { Attribute } from "../src/market/group-spec.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { eventually } from "./eventually.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import {
  providerAddress,
  providerKey,
  rivalAddress,
  rivalKey,
  startMarketChain,
  tenantAddress,
} from "./market-chain.ts";
import type { Message } from "./market-stage.ts";
import { watch } from "./mirror-stage.ts";

const lab: Attribute = { key: "region", value: "lab" };
const fast: Attribute = { key: "tier", value: "fast" };

interface Following {
  readonly configured?: readonly Attribute[];
  readonly provider?: typeof providerAddress;
}

async function follow(t: TestContext, { configured = [lab], provider = providerAddress }: Following = {}) {
  const market = await startMarketChain(t);
  const proxy = await startFaultProxy(t, () => market.node.rpcUrl);
  let own: FollowedProviderRecord | undefined;
  const { chain } = await watch(t, market, { urls: [proxy.url], listener: (step) => own?.onStep(step) });
  const deps = { chain: { queries: chain.queries, provider }, configured, clock: realClock, log: silentLog };
  own = followProviderRecord(deps);
  const abort = new AbortController();
  const running = own.run(abort.signal);
  t.after(async () => {
    abort.abort();
    await running;
  });
  return { market, proxy, own };
}

const entryWith = (attributes: Attribute[]): Message => ({
  typeUrl: "/akash.provider.v1beta4.MsgUpdateProvider",
  value: MsgUpdateProvider.encode(
    MsgUpdateProvider.fromPartial({ owner: providerAddress, hostUri: "https://provider.test:8443", attributes }),
  ).finish(),
});

test("what we publish is followed as it changes, and a difference from provider.yaml says register", async (t) => {
  const { market, own } = await follow(t, { configured: [lab] });
  assert.equal(own.entry.state, "unknown");
  await eventually("the entry was read", () => own.entry.state === "registered");
  assert.deepEqual(own.entry.attributes, [lab]);
  assert.equal(own.trouble, undefined);
  assert.deepEqual(own.params?.minDeposits, [
    { denom: "uact", amount: 500_000n },
    { denom: "uakt", amount: 500_000n },
  ]);
  let told = 0;
  own.onChange(() => {
    told += 1;
  });
  await market.act(providerKey, entryWith([fast]));
  await eventually("the new entry", () => own.entry.attributes[0]?.key === "tier");
  assert.equal(told, 1);
  assert.equal(
    own.trouble,
    "the chain has other attributes of us than provider.yaml (it lacks region=lab; it has tier=fast besides): run akash-provider register",
  );
});

test("an auditor's signature counts from the block that holds it, until it is taken back", async (t) => {
  const { market, own } = await follow(t);
  await eventually("the entry was read", () => own.entry.state === "registered");
  assert.equal(own.entry.audited.size, 0);
  const about = { owner: providerAddress, auditor: rivalAddress };
  const signature = MsgSignProviderAttributes.fromPartial({ ...about, attributes: [lab] });
  const value = MsgSignProviderAttributes.encode(signature).finish();
  await market.act(rivalKey, { typeUrl: "/akash.audit.v1.MsgSignProviderAttributes", value });
  await eventually("the signature", () => own.entry.audited.get(rivalAddress));
  assert.deepEqual(own.entry.audited.get(rivalAddress), [lab]);
  const back = MsgDeleteProviderAttributes.encode(MsgDeleteProviderAttributes.fromPartial(about)).finish();
  await market.act(rivalKey, { typeUrl: "/akash.audit.v1.MsgDeleteProviderAttributes", value: back });
  await eventually("the signature is gone", () => own.entry.audited.size === 0);
});

test("who is not registered is told to register", async (t) => {
  const { own } = await follow(t, { provider: tenantAddress });
  await eventually("the entry was read", () => own.entry.state === "not registered");
  assert.equal(own.trouble, "we are not registered on the chain: run akash-provider register");
});

test("when nobody answers, the last good answer stays, with its age and the reason", async (t) => {
  const { market, proxy, own } = await follow(t);
  await eventually("the entry was read", () => own.entry.state === "registered");
  proxy.fault = (method) => (method === "abci_query" ? "cut" : undefined);
  own.onStep({ changed: [{ kind: "provider", key: providerAddress }] });
  await eventually("the trouble is told", () => own.trouble);
  assert.match(own.trouble ?? "", /^what the chain has of us cannot be read: /);
  assert.deepEqual(own.entry.attributes, [lab]);
  assert.ok((own.ageMs ?? 0) > 0);
  proxy.fault = () => undefined;
  own.onStep({ changed: [], gap: { from: 1n, to: market.node.height } });
  await eventually("it is read again", () => own.trouble === undefined);
  proxy.fault = (method) => (method === "abci_query" ? "cut" : undefined);
  own.doubt();
  await eventually("it was looked at", () => own.trouble);
});

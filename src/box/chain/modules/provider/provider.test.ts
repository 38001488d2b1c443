import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MsgCreateProvider,
  MsgDeleteProvider,
  MsgUpdateProvider,
  QueryProviderRequest,
  QueryProviderResponse,
  QueryProvidersResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { alice, bob, createTestApp, type TestApp } from "../../../../../test/support/embedded-app.ts";

const good = { hostUri: "https://provider.example.com:8443", attributes: [{ key: "region", value: "eu" }] };

function create(more: object = {}) {
  const message = MsgCreateProvider.fromPartial({ owner: alice.address, ...good, ...more });
  return { typeUrl: "/akash.provider.v1beta4.MsgCreateProvider", value: MsgCreateProvider.encode(message).finish() };
}

function update(more: object = {}) {
  const message = MsgUpdateProvider.fromPartial({ owner: alice.address, ...good, ...more });
  return { typeUrl: "/akash.provider.v1beta4.MsgUpdateProvider", value: MsgUpdateProvider.encode(message).finish() };
}

function ask(chain: TestApp, owner: string) {
  return chain.app.query("/akash.provider.v1beta4.Query/Provider", QueryProviderRequest.encode({ owner }).finish());
}

test("a provider registers once, changes itself, and never leaves", () => {
  const chain = createTestApp([alice]);
  const deliver = (message: ReturnType<typeof create>) => chain.deliver(chain.sign(alice, [message]));
  assert.deepEqual([deliver(update()).code, deliver(update()).codespace], [3, "provider"]);
  assert.equal(deliver(create()).code, 0);
  assert.match(deliver(create()).log, /message index: 0: id: akash1\w+: invalid provider: already exists$/);
  const changed = deliver(update({ hostUri: "https://other.example.com" }));
  assert.ok(changed.events.some(({ type }) => type === "akash.provider.v1beta4.EventProviderUpdated"));
  assert.equal(
    QueryProviderResponse.decode(ask(chain, alice.address).value).provider?.hostUri,
    "https://other.example.com",
  );
  const value = MsgDeleteProvider.encode({ owner: alice.address }).finish();
  const leaving = deliver({ typeUrl: "/akash.provider.v1beta4.MsgDeleteProvider", value });
  assert.deepEqual([leaving.code, leaving.codespace], [10, "provider"]);
  const { providers } = QueryProvidersResponse.decode(chain.query("/akash.provider.v1beta4.Query/Providers"));
  assert.deepEqual(
    providers.map(({ owner }) => owner),
    [alice.address],
  );
});

test("an unknown provider is not found", () => {
  const chain = createTestApp([alice]);
  assert.deepEqual(
    [ask(chain, bob.address).code, ask(chain, bob.address).log],
    [22, "invalid provider: address not found: key not found"],
  );
  assert.equal(ask(chain, "nobody").code, 18);
});

test("what makes no sense is rejected before it costs a fee", () => {
  const chain = createTestApp([alice]);
  const key = (name: string) => ({ key: name, value: "" });
  const cases: [object, number, string][] = [
    [{ hostUri: "provider.example.com" }, 2, "provider"],
    [{ hostUri: "http://provider.example.com" }, 1, "provider"],
    [{ hostUri: "https://" }, 1, "provider"],
    [{ hostUri: "https://provider.example.com/path" }, 1, "provider"],
    [{ attributes: [key("1region")] }, 2, "akash"],
    [{ attributes: [key("region"), key("region")] }, 1, "akash"],
  ];
  const before = chain.balance(alice.address);
  for (const [more, code, codespace] of cases) {
    const result = chain.deliver(chain.sign(alice, [create(more)]));
    assert.deepEqual([result.code, result.codespace, result.gasUsed], [code, codespace, 0n], JSON.stringify(more));
  }
  assert.equal(chain.balance(alice.address), before);
});

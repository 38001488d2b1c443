import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MsgDeleteProviderAttributes,
  MsgSignProviderAttributes,
  QueryAuditorAttributesRequest,
  QueryProviderAttributesRequest,
  QueryProviderAuditorRequest,
  QueryProvidersResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { alice, bob, carol, createTestApp, type TestApp } from "../../../../../test/support/embedded-app.ts";

const owner = carol.address;

function sign(auditor: string, attributes: Record<string, string>) {
  const list = Object.entries(attributes).map(([key, value]) => ({ key, value }));
  const value = MsgSignProviderAttributes.encode({ owner, auditor, attributes: list }).finish();
  return { typeUrl: "/akash.audit.v1.MsgSignProviderAttributes", value };
}

function withdraw(auditor: string, keys: string[]) {
  const value = MsgDeleteProviderAttributes.encode({ owner, auditor, keys }).finish();
  return { typeUrl: "/akash.audit.v1.MsgDeleteProviderAttributes", value };
}

function signedBy(chain: TestApp, auditor: string): string[] {
  const request = QueryProviderAuditorRequest.encode({ owner, auditor }).finish();
  const answer = chain.query("/akash.audit.v1.Query/ProviderAuditorAttributes", request);
  return (
    QueryProvidersResponse.decode(answer).providers[0]?.attributes.map(({ key, value }) => `${key}=${value}`) ?? []
  );
}

test("what an auditor signs later joins what was signed before, sorted, with new values for old keys", () => {
  const chain = createTestApp([alice, bob]);
  chain.deliver(chain.sign(alice, [sign(alice.address, { region: "eu", tier: "1" })]));
  const again = chain.deliver(chain.sign(alice, [sign(alice.address, { region: "us", arch: "x86" })]));
  assert.ok(again.events.some(({ type }) => type === "akash.audit.v1.EventTrustedAuditorCreated"));
  assert.deepEqual(signedBy(chain, alice.address), ["arch=x86", "region=us", "tier=1"]);
});

test("an auditor takes back single keys, or all of them by naming none", () => {
  const chain = createTestApp([alice, bob]);
  const deliver = (message: ReturnType<typeof sign>) => chain.deliver(chain.sign(alice, [message]));
  assert.deepEqual(
    [deliver(withdraw(alice.address, [])).code, deliver(withdraw(alice.address, [])).codespace],
    [1, "audit"],
  );
  deliver(sign(alice.address, { region: "eu", tier: "1", arch: "x86" }));
  assert.match(
    deliver(withdraw(alice.address, ["host"])).log,
    /non-existing attribute "host" .*: attribute not found$/,
  );
  assert.equal(deliver(withdraw(alice.address, ["tier"])).code, 0);
  assert.deepEqual(signedBy(chain, alice.address), ["arch=x86", "region=eu"]);
  assert.equal(deliver(withdraw(alice.address, [])).code, 0);
  assert.throws(() => signedBy(chain, alice.address), /22: invalid provider: address not found: key not found$/);
});

test("signatures are found by provider, by auditor and all together", () => {
  const chain = createTestApp([alice, bob]);
  for (const key of [alice, bob]) chain.deliver(chain.sign(key, [sign(key.address, { region: "eu" })]));
  const auditors = (path: string, request: Uint8Array) =>
    QueryProvidersResponse.decode(chain.query(`/akash.audit.v1.Query/${path}`, request))
      .providers.map(({ auditor }) => auditor)
      .sort();
  const both = [alice.address, bob.address].sort();
  const byProvider = QueryProviderAttributesRequest.encode(
    QueryProviderAttributesRequest.fromPartial({ owner }),
  ).finish();
  assert.deepEqual(auditors("ProviderAttributes", byProvider), both);
  assert.deepEqual(auditors("AllProvidersAttributes", new Uint8Array()), both);
  const request = QueryAuditorAttributesRequest.fromPartial({ auditor: bob.address });
  assert.deepEqual(auditors("AuditorAttributes", QueryAuditorAttributesRequest.encode(request).finish()), [
    bob.address,
  ]);
});

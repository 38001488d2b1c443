/** Screening of groups over TLS, by a running provider. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { explain } from "../../src/bidengine/decision/decision.ts";
import { packMessage } from "../../src/chain/tx/messages.ts";
import { screeningPerAccount } from "../../src/gateway/screening/screener.ts";
import { formatDecimal } from "../../src/market/decimal.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { eventually } from "../support/eventually.ts";
import { sendRequest } from "../support/gateway-client.ts";
import { createOwner } from "../support/owner.ts";
import { groupOfCpus, smallGroup } from "../support/stages/bid-stage.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import { groupSpecJson } from "./group-spec-json.ts";

test("screening of groups", async (t) => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner, { tenants: 2 });
  const { port, tenants, services } = stage;
  const [tenant, other] = tenants;
  const engine = await services.bidengine;
  assert.ok(tenant && other && engine);
  // An account without transactions has no key on the chain.
  for (const { address, send } of [tenant, other]) {
    const amount = [{ denom: "uakt", amount: "1" }];
    await send(packMessage("send", { fromAddress: address, toAddress: address, amount }));
  }
  const validate = (body: string) => sendRequest({ port }, { path: "/validate", body });
  const screen = (body: string, authorization: string | undefined = tenant.bearer()) =>
    sendRequest({ port }, { method: "POST", path: "/v1/bid-screening", body, authorization });
  const screened = async (group: GroupSpec, more = {}) => {
    const answer = await screen(JSON.stringify({ group_spec: groupSpecJson(group), ...more }));
    assert.equal(answer.status, 200, answer.body);
    return JSON.parse(answer.body);
  };

  await t.test("valid group → returned as parsed", async () => {
    const json = groupSpecJson(smallGroup);
    const { status, body } = await validate(JSON.stringify({ ...json, unknown: 1 }));
    assert.equal(status, 200, body);
    assert.deepEqual(JSON.parse(body), json);
  });

  await t.test("invalid group → the reason", async () => {
    const none = await validate("");
    assert.deepEqual([none.status, none.body], [422, "EOF\n"]);
    const list = await validate("[]");
    assert.equal(list.body, "json: cannot unmarshal array into Go value of type v1beta4.GroupSpec\n");
    const small = await validate(JSON.stringify(groupSpecJson(groupOfCpus(1n))));
    assert.equal(small.status, 422);
    assert.match(small.body, /^group validation error: unit 1: cpu in thousandths must be from 10 to 384000, not 1\n$/);
  });

  await t.test("screening without credentials → rejected", async () => {
    const { status, body } = await screen("{}", "");
    assert.deepEqual([status, body], [401, '{"message":"unauthorized access"}']);
  });

  await t.test("invalid body → 400, missing group → 400 with the reason", async () => {
    assert.deepEqual([(await screen("{")).status, (await screen("{")).body], [400, "unexpected EOF\n"]);
    assert.equal((await screen('{"group_spec":{"name":1}}')).status, 400);
    assert.equal((await screen("{}")).body, '{"passed":false,"reasons":["missing group spec"]}');
  });

  await t.test(
    "what we would bid on passes with the offer and the price of `screen`, and nothing is reserved",
    async () => {
      const before = (await stage.services.cluster)?.capacity.sold;
      const request = { owner: tenant.address, group: smallGroup, reclamationWindowNs: undefined };
      const decision = await eventually("a bid", async () => {
        const decided = await engine.screen(request);
        return decided.verdict === "bid" && decided;
      });
      const answer = await screened(smallGroup, { hostnames: ["free.example.com"] });
      assert.equal(answer.passed, true, JSON.stringify(answer));
      assert.deepEqual(answer.price, {
        denom: decision.price?.denom,
        amount: decision.price && formatDecimal(decision.price.amount),
      });
      const [unit] = groupSpecJson(smallGroup).resources;
      assert.deepEqual(answer.resource_offers, [{ resources: unit?.resource, count: unit?.count, prices: null }]);
      assert.deepEqual((await stage.services.cluster)?.capacity.sold, before);
      assert.deepEqual([...((await stage.services.cluster)?.capacity.reserved() ?? [])], []);
    },
  );

  await t.test("no bid → the reason, as from `screen`", async () => {
    const large = groupOfCpus(100_000n);
    const decision = await engine.screen({ owner: tenant.address, group: large, reclamationWindowNs: undefined });
    assert.match(explain(decision)[0] ?? "", /placementExists/);
    assert.deepEqual(await screened(large), {
      passed: false,
      reasons: ["provider does not have sufficient resources for this deployment"],
    });
  });

  await t.test("unavailable host name → a reason", async () => {
    const { passed, reasons } = await screened(smallGroup, { hostnames: ["provider.example.com"] });
    assert.equal(passed, false);
    assert.match(reasons[0], /^hostname unavailable: /);
  });

  await t.test("too many requests → Retry-After, and another tenant is not delayed", async () => {
    const body = JSON.stringify({ group_spec: groupSpecJson(smallGroup) });
    let rejected = await screen(body);
    for (let n = 0; n < screeningPerAccount.atOnce && rejected.status === 200; n += 1) rejected = await screen(body);
    assert.equal(rejected.status, 429);
    assert.match(rejected.header("Retry-After") ?? "", /^[1-9]\d?$/);
    assert.equal((await screen(body, other.bearer())).status, 200);
  });
});

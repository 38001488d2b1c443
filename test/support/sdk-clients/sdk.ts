/** The network's own SDK, by its public entry points, as tenant and as provider. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { msg, TxError } from "@akashnetwork/chain-sdk";
import {
  Cert_State,
  Deployment_State,
  Types_State as Escrow_State,
  Lease_State,
  Scope,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { Group_State } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { Bid_State, type Order, Order_State } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { SdkContract } from "../contracts/sdk-clients.contract.ts";
import { createOwner } from "../owner.ts";
import {
  bidDeposit,
  compile,
  deposit,
  earned,
  firstDeposit,
  newCertificate,
  offerFor,
  price,
  providerEntry,
} from "./offer.ts";
import { absent, openParty, type Party } from "./sdk-party.ts";

interface DeploymentId {
  readonly owner: string;
  readonly dseq: string;
}

export function checkSdk({ name, open }: SdkContract): void {
  describe(`the network's SDK on ${name}`, () => {
    const owner = createOwner();
    let tenant: Party;
    let provider: Party;
    let denom: string;
    before(async () => {
      const chain = await open(owner);
      denom = chain.denom;
      tenant = await openParty(owner, chain, chain.tenantMnemonic);
      provider = await openParty(owner, chain, chain.providerMnemonic);
    });
    after(() => owner[Symbol.asyncDispose]());

    /** Nobody can register twice: on a chain that knows the provider its entry is changed. */
    async function register(): Promise<void> {
      const { getProvider, createProvider, updateProvider } = provider.sdk.provider.v1beta4;
      const known = await getProvider({ owner: provider.address }).catch(absent);
      await (known ? updateProvider : createProvider)(providerEntry(provider.address), provider.noted);
    }

    async function createDeployment(id: DeploymentId, amount = firstDeposit): Promise<void> {
      const message = { id, ...(await compile(denom)), deposit: deposit(amount, denom) };
      await tenant.sdk.deployment.v1beta4.createDeployment(message, tenant.noted);
    }

    async function openOrder(id: DeploymentId): Promise<Order> {
      const { orders } = await provider.sdk.market.v1beta5.getOrders({ filters: { ...id, state: "open" } });
      const [order] = orders;
      assert.ok(order && orders.length === 1);
      return order;
    }

    function bidOn(id: DeploymentId, { spec }: Order) {
      const bidId = { ...id, gseq: 1, oseq: 1, provider: provider.address, bseq: 0 };
      const money = { price: { denom, amount: price }, deposit: deposit(bidDeposit, denom) };
      return { id: bidId, ...money, resourcesOffer: offerFor(spec) };
    }

    test("a certificate is created, found and revoked", async () => {
      const { getCertificates, createCertificate, revokeCertificate } = tenant.sdk.cert.v1;
      const { id, cert, pubkey } = await newCertificate(tenant.address);
      const find = async (state: string) => (await getCertificates({ filter: { ...id, state } })).certificates;
      await createCertificate({ owner: id.owner, cert, pubkey }, tenant.noted);
      const certificate = { state: Cert_State.valid, cert, pubkey };
      assert.deepEqual(await find("valid"), [{ certificate, serial: id.serial }]);
      await revokeCertificate({ id }, tenant.noted);
      assert.deepEqual(await find("valid"), []);
      assert.equal((await find("revoked"))[0]?.certificate?.state, Cert_State.revoked);
    });

    test("a provider is created and found", async () => {
      await register();
      const found = await tenant.sdk.provider.v1beta4.getProvider({ owner: provider.address });
      assert.deepEqual(found.provider, providerEntry(provider.address));
    });

    test("what was sent over RPC is found over gRPC, and the account has moved on to its next sequence", async () => {
      const { address } = provider;
      const { auth, tx } = provider.cosmos;
      const sequence = async () => (await auth.v1beta1.getAccountInfo({ address })).info?.sequence.toNumber();
      const before = await sequence();
      assert.ok(before !== undefined);
      await register();
      assert.equal(await sequence(), before + 1);
      const { transactionHash, height, gasUsed } = provider.last;
      const { txResponse } = await tx.v1beta1.getTx({ hash: transactionHash });
      assert.deepEqual([txResponse?.code, txResponse?.height.toNumber()], [0, height]);
      assert.equal(txResponse?.gasUsed.toBigInt(), gasUsed);
    });

    test("an SDL becomes a deployment, an order, a bid and a lease, and every coin is accounted for", async () => {
      await register();
      const [tenantHad, providerHad] = [await tenant.worth(), await provider.worth()];
      const { deployment, market, escrow } = tenant.sdk;

      const id = await tenant.newDeployment();
      await createDeployment(id);
      assert.equal(await tenant.worth(), tenantHad - firstDeposit);
      const order = await openOrder(id);
      const { groups, hash } = await compile(denom);
      assert.deepEqual(order.spec, groups[0], "what is ordered is what the SDL says");

      const bid = bidOn(id, order);
      await provider.sdk.market.v1beta5.createBid(bid, provider.noted);
      assert.equal(await provider.worth(), providerHad - bidDeposit);
      const { bids } = await market.v1beta5.getBids({ filters: { ...id, state: "open" } });
      assert.deepEqual(
        bids.map((each) => [each.bid?.id?.provider, each.bid?.price]),
        [[provider.address, { denom, amount: price }]],
      );

      await market.v1beta5.createLease({ bidId: bid.id }, tenant.noted);
      const leasedAt = tenant.last.height;
      const { lease, escrowPayment } = await market.v1beta5.getLease({ id: bid.id });
      assert.deepEqual([lease?.state, lease?.createdAt.toNumber()], [Lease_State.active, leasedAt]);
      assert.deepEqual([lease?.price, escrowPayment?.state?.rate], [bid.price, bid.price]);
      assert.equal((await market.v1beta5.getOrder({ id: order.id })).order?.state, Order_State.active);

      const update = await compile(denom, "nginx:1.30");
      assert.notDeepEqual(update.hash, hash);
      const account = { scope: Scope.deployment, xid: `${id.owner}/${id.dseq}` };
      const top = { signer: tenant.address, id: account, deposit: deposit(1_000_000n, denom) };
      await tenant.sendTogether(
        msg(escrow.v1.accountDeposit, top),
        msg(deployment.v1beta4.updateDeployment, { id, hash: update.hash }),
      );
      const atStake = firstDeposit + 1_000_000n;
      assert.equal(await tenant.worth(), tenantHad - atStake);
      const updated = await deployment.v1beta4.getDeployment({ id });
      assert.deepEqual(updated.deployment?.hash, update.hash);

      await provider.sdk.market.v1beta5.withdrawLease({ id: bid.id }, provider.noted);
      const withdrawnAt = provider.last.height;
      const first = earned(withdrawnAt - leasedAt);
      assert.equal(await provider.worth(), providerHad - bidDeposit + first);
      const { accounts } = await escrow.v1.getAccounts({ state: "open", xid: `deployment/${account.xid}` });
      assert.deepEqual(accounts[0]?.state?.funds, [{ denom, amount: `${atStake - first}` }]);

      await deployment.v1beta4.closeDeployment({ id }, tenant.noted);
      const paid = first + earned(tenant.last.height - withdrawnAt);
      assert.equal(await provider.worth(), providerHad + paid, "what was earned, and the deposit of the bid is back");
      assert.equal(await tenant.worth(), tenantHad - paid, "what was not spent is back");
      const ended = await deployment.v1beta4.getDeployment({ id });
      assert.equal(ended.deployment?.state, Deployment_State.closed);
      assert.equal(ended.groups[0]?.state, Group_State.closed);
      assert.equal(ended.escrowAccount?.state?.state, Escrow_State.closed);
      const last = await market.v1beta5.getLease({ id: bid.id });
      assert.deepEqual([last.lease?.state, last.lease?.closedOn.toNumber()], [Lease_State.closed, tenant.last.height]);
      assert.deepEqual(last.escrowPayment?.state?.withdrawn, { denom, amount: `${paid}` });
      assert.equal((await market.v1beta5.getBid({ id: bid.id })).bid?.state, Bid_State.closed);
    });

    test("a second bid on one order and a lease on a closed one are rejected, each with the market's reason", async () => {
      await register();
      const [tenantHad, providerHad] = [await tenant.worth(), await provider.worth()];
      const id = await tenant.newDeployment();
      await createDeployment(id);
      const bid = bidOn(id, await openOrder(id));
      const { createBid } = provider.sdk.market.v1beta5;
      await createBid(bid, provider.noted);
      await assert.rejects(createBid(bid, provider.noted), /invalid bid: bid exists from provider/);
      assert.deepEqual(await refusal(createBid(bid, { ...provider.noted, fee })), {
        code: 21,
        rawLog: "failed to execute message; message index: 0: invalid bid: bid exists from provider",
      });

      await tenant.sdk.deployment.v1beta4.closeDeployment({ id }, tenant.noted);
      const { createLease } = tenant.sdk.market.v1beta5;
      await assert.rejects(createLease({ bidId: bid.id }, tenant.noted), /bid not open/);
      assert.deepEqual(await refusal(createLease({ bidId: bid.id }, { ...tenant.noted, fee })), {
        code: 12,
        rawLog: "failed to execute message; message index: 0: bid not open",
      });
      assert.deepEqual([await tenant.worth(), await provider.worth()], [tenantHad, providerHad], "all came back");
    });

    test("a deposit that the account does not have is rejected, and there is no deployment", async () => {
      const held = await tenant.worth();
      const id = await tenant.newDeployment();
      await assert.rejects(createDeployment(id, held + 1n), /deposit invalid: insufficient balance/);
      assert.equal(await tenant.sdk.deployment.v1beta4.getDeployment({ id }).catch(absent), undefined);
      assert.equal(await tenant.worth(), held);
    });
  });
}

/** Given by hand, a fee saves the simulation, and a transaction that cannot succeed gets into a block. */
const fee = { amount: [{ denom: "uakt", amount: "20000" }], gas: "800000" };

async function refusal(call: Promise<unknown>): Promise<{ code: number; rawLog: string | undefined }> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TxError, `refused in its block: ${error}`);
  const { code, rawLog } = error.txResponse;
  return { code, rawLog };
}

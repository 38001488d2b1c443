/** The plain client of the Cosmos world, which knows the network only by its messages. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Lease_State, MsgCreateCertificate } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  MsgCloseDeployment,
  MsgCreateDeployment,
  MsgCreateProvider,
  MsgUpdateProvider,
  QueryDeploymentRequest,
  QueryDeploymentResponse,
  QueryProviderRequest,
  QueryProviderResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  MsgCreateBid,
  MsgCreateLease,
  QueryLeaseRequest,
  QueryLeaseResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { DirectSecp256k1HdWallet, type EncodeObject } from "@cosmjs/proto-signing";
import { BroadcastTxError, type Coin, type DeliverTxResponse, type MsgSendEncodeObject } from "@cosmjs/stargate";
import type { SdkChain, SdkContract } from "../contracts/sdk-clients.contract.ts";
import { createOwner } from "../owner.ts";
import {
  bidDeposit,
  compile,
  deposit,
  earned,
  feeOf,
  firstDeposit,
  newCertificate,
  offerFor,
  price,
  providerEntry,
} from "./offer.ts";
import { message, openParty, type Party, queryAbci } from "./stargate-party.ts";

interface DeploymentId {
  readonly owner: string;
  readonly dseq: number;
}

export function checkStargate({ name, open }: SdkContract): void {
  describe(`the plain client on ${name}`, () => {
    const owner = createOwner();
    let chain: SdkChain;
    let tenant: Party;
    let provider: Party;
    before(async () => {
      chain = await open(owner);
      tenant = await openParty(owner, chain, chain.tenantMnemonic);
      provider = await openParty(owner, chain, chain.providerMnemonic);
    });
    after(() => owner[Symbol.asyncDispose]());

    const find = {
      provider: () =>
        queryAbci(
          chain,
          "/akash.provider.v1beta4.Query/Provider",
          [QueryProviderRequest, { owner: provider.address }],
          QueryProviderResponse,
        ),
      deployment: (id: DeploymentId) =>
        queryAbci(
          chain,
          "/akash.deployment.v1beta4.Query/Deployment",
          [QueryDeploymentRequest, { id }],
          QueryDeploymentResponse,
        ),
      lease: (id: DeploymentId) =>
        queryAbci(chain, "/akash.market.v1beta5.Query/Lease", [QueryLeaseRequest, { id }], QueryLeaseResponse),
    };

    /** Nobody can register twice: on a chain that knows the provider its entry is changed. */
    async function register(): Promise<void> {
      const known = await find.provider();
      await provider.send(message(known ? MsgUpdateProvider : MsgCreateProvider, providerEntry(provider.address)));
    }

    async function newDeployment(amount = firstDeposit) {
      const id = { owner: tenant.address, dseq: await tenant.client.getHeight() };
      const { groups, hash } = await compile(chain.denom);
      const bidId = { ...id, gseq: 1, oseq: 1, provider: provider.address, bseq: 0 };
      const money = { price: { denom: chain.denom, amount: price }, deposit: deposit(bidDeposit, chain.denom) };
      return {
        id,
        bidId,
        create: message(MsgCreateDeployment, { id, groups, hash, deposit: deposit(amount, chain.denom) }),
        bid: message(MsgCreateBid, { id: bidId, ...money, resourcesOffer: offerFor(groups[0]) }),
        lease: message(MsgCreateLease, { bidId }),
        close: message(MsgCloseDeployment, { id }),
      };
    }

    const coins = async ({ client, address }: Party, denom: string) =>
      BigInt((await client.getBalance(address, denom)).amount);

    test("a certificate, a provider, a deployment and a lease are created, and every coin is accounted for", async () => {
      const { denom } = chain;
      const { cert, pubkey } = await newCertificate(tenant.address);
      await tenant.send(message(MsgCreateCertificate, { owner: tenant.address, cert, pubkey }));
      await register();
      assert.deepEqual((await find.provider())?.provider, providerEntry(provider.address));

      const [tenantHad, providerHad] = [await coins(tenant, denom), await coins(provider, denom)];
      const { create, bid, lease, close, bidId } = await newDeployment();
      const created = await tenant.send(create);
      const offered = await provider.send(bid);
      const leased = await tenant.send(lease);
      const found = await find.lease(bidId);
      assert.deepEqual([found?.lease?.state, found?.lease?.price], [Lease_State.active, { denom, amount: price }]);

      const closed = await tenant.send(close);
      const paid = earned(closed.height - leased.height);
      const fees = (...txs: DeliverTxResponse[]) => txs.reduce((sum, tx) => sum + feeOf(tx, denom), 0n);
      assert.equal(await coins(tenant, denom), tenantHad - paid - fees(created, leased, closed));
      assert.equal(await coins(provider, denom), providerHad + paid - fees(offered));
    });

    test("a transaction is found by its hash, its height and its sender, and tells what it used", async () => {
      const { client, address } = tenant;
      const nobody = await someNewAddress();
      assert.equal(await client.getAccount(nobody), null);
      const held = await client.getAllBalances(address);
      assert.deepEqual(held, held.toSorted(byDenom), "in the order of their names");

      const gas = await client.simulate(address, [sendOne(address, nobody)], "a memo");
      assert.deepEqual(await client.getAllBalances(address), held, "a simulation moves nothing");
      const sent = await tenant.send(sendOne(address, nobody));
      assert.ok(sent.gasUsed > BigInt(gas) && sent.gasUsed <= sent.gasWanted);
      assert.deepEqual(await client.getAllBalances(nobody), [one]);
      const spent = (denom: string) => feeOf(sent, denom) + (denom === one.denom ? 1n : 0n);
      assert.deepEqual(
        await client.getAllBalances(address),
        held.map(({ denom, amount }) => ({ denom, amount: `${BigInt(amount) - spent(denom)}` })),
      );

      const tx = await client.getTx(sent.transactionHash);
      assert.deepEqual([tx?.code, tx?.height, tx?.gasUsed], [0, sent.height, sent.gasUsed]);
      const hashes = async (query: Parameters<typeof client.searchTx>[0]) =>
        (await client.searchTx(query)).map(({ hash }) => hash);
      assert.deepEqual(await hashes(`transfer.recipient='${nobody}'`), [sent.transactionHash]);
      const here = [
        { key: "message.sender", value: address },
        { key: "tx.height", value: sent.height },
      ];
      assert.deepEqual(await hashes(here), [sent.transactionHash]);
      assert.deepEqual(await client.searchTx(`transfer.recipient='${await someNewAddress()}'`), []);
      const block = await client.getBlock(sent.height);
      assert.deepEqual(block.txs[sent.txIndex], tx?.tx);
      assert.equal(block.header.chainId, await client.getChainId());
    });

    test("transactions that do not wait for each other take one sequence each, and an old one is rejected", async () => {
      const { client, address } = tenant;
      const { sequence } = await client.getSequence(address);
      const [first, second] = [
        await tenant.sign([sendOne(address, address)], { sequence }),
        await tenant.sign([sendOne(address, address)], { sequence: sequence + 1 }),
      ];
      const firstHash = await client.broadcastTxSync(first);
      const last = await client.broadcastTx(second, 60_000, chain.pollMs);
      assert.equal(last.code, 0, last.rawLog);
      assert.equal((await client.getTx(firstHash))?.code, 0);
      assert.equal((await client.getSequence(address)).sequence, sequence + 2);
      const again = await tenant.sign([sendOne(address, provider.address)], { sequence });
      const words = `account sequence mismatch, expected ${sequence + 2}, got ${sequence}: incorrect account sequence`;
      await refused(client.broadcastTxSync(again), 32, words);
      await assert.rejects(client.broadcastTxSync(second), /tx already exists in cache/);
    });

    test("what is signed for another chain, or pays a fee that the account has not, is not even taken", async () => {
      const { client, address } = tenant;
      const held = await coins(tenant, "uakt");
      const elsewhere = await tenant.sign([sendOne(address, address)], { chainId: "elsewhere-1" });
      await refused(client.broadcastTxSync(elsewhere), 4, /^signature verification failed; .* chain-id \(/);
      const dear = await tenant.sign([sendOne(address, address)], {}, held + 1n);
      await refused(client.broadcastTxSync(dear), 5, /is smaller than .*: insufficient funds$/);
      assert.equal(await coins(tenant, "uakt"), held);
    });

    /** Code and words of a transaction that gets into a block, but has no other effect there than its fee. */
    async function failure(party: Party, each: EncodeObject): Promise<[number, string]> {
      const had = await coins(party, "uakt");
      const tx = await party.client.broadcastTx(await party.sign([each]), 60_000, chain.pollMs);
      assert.equal(await coins(party, "uakt"), had - feeOf(tx, "uakt"));
      return [tx.code, tx.rawLog?.replace("failed to execute message; message index: 0: ", "") ?? ""];
    }

    test("a second bid on one order and a lease on a closed one fail with the market's reasons", async () => {
      await register();
      const { create, bid, lease, close, bidId } = await newDeployment();
      await tenant.send(create);
      await provider.send(bid);
      assert.deepEqual(await failure(provider, bid), [21, "invalid bid: bid exists from provider"]);
      await tenant.send(close);
      assert.deepEqual(await failure(tenant, lease), [12, "bid not open"]);
      assert.equal(await find.lease(bidId), undefined);
    });

    test("money that the account has not is neither sent nor deposited", async () => {
      const { address } = tenant;
      const tooMuch = (await coins(tenant, chain.denom)) + 1n;
      const { id, create } = await newDeployment(tooMuch);
      assert.deepEqual(await failure(tenant, create), [1, "deposit invalid: insufficient balance"]);
      assert.equal(await find.deployment(id), undefined);
      const beyond = { denom: "uakt", amount: `${(await coins(tenant, "uakt")) + 1n}` };
      const [code, words] = await failure(tenant, sendOne(address, provider.address, beyond));
      assert.equal(code, 5);
      assert.match(words, /^spendable balance \d+uakt is smaller than \d+uakt: insufficient funds$/);
    });

    test("uact cannot be sent, although the account has it", async () => {
      const sending = sendOne(tenant.address, provider.address, { denom: "uact", amount: "1" });
      const words = "uact transfers are currently disabled: send transactions are disabled";
      assert.deepEqual(await failure(tenant, sending), [5, words]);
    });
  });
}

const one = { denom: "uakt", amount: "1" };

function sendOne(fromAddress: string, toAddress: string, coin = one): MsgSendEncodeObject {
  return { typeUrl: "/cosmos.bank.v1beta1.MsgSend", value: { fromAddress, toAddress, amount: [coin] } };
}

/** An address that the chain has never heard of. */
async function someNewAddress(): Promise<string> {
  const wallet = await DirectSecp256k1HdWallet.generate(12, { prefix: "akash" });
  return (await wallet.getAccounts())[0]?.address ?? "";
}

function byDenom(left: Coin, right: Coin): number {
  return left.denom < right.denom ? -1 : 1;
}

async function refused(sending: Promise<unknown>, code: number, words: string | RegExp): Promise<void> {
  await assert.rejects(sending, (error) => {
    assert.ok(error instanceof BroadcastTxError, String(error));
    assert.deepEqual([error.codespace, error.code], ["sdk", code]);
    if (typeof words === "string") assert.equal(error.log, words);
    else assert.match(error.log ?? "", words);
    return true;
  });
}

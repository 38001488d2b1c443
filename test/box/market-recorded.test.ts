/** Replays the history of the lab with the real node: the answers must equal the recorded bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryAccountsResponse, QueryPaymentsResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { MsgCreateDeployment } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { Bid_State } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { TxBody, TxRaw } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { AbciEvent } from "../../src/box/chain/abci.ts";
import { readBidId } from "../../src/box/chain/market-ids.ts";
import { defaultDeploymentParams } from "../../src/box/chain/modules/deployment/creation.ts";
import { defaultMarketParams } from "../../src/box/chain/modules/market/bidding.ts";
import {
  msgCreateBid,
  queryBidsResponse,
  queryDeploymentsResponse,
  queryLeasesResponse,
} from "../../src/chain/codec/wire-messages.ts";
import {
  closeBid,
  closeDeployment,
  createBid,
  createDeployment,
  createLease,
  deposit,
  withdrawLease,
} from "../support/market-messages.ts";
import { readJsonRecording } from "../support/recordings.ts";
import { type MarketStage, type Message, marketStage, outcomeOf } from "../support/stages/market-stage.ts";

interface RecordedBlock {
  readonly block: { readonly block: { readonly data: { readonly txs: readonly string[] } } };
  readonly block_results: {
    readonly txs_results: readonly {
      readonly code: number;
      readonly codespace: string;
      readonly gas_used: string;
      readonly events: AbciEvent[];
    }[];
  };
}

function recordedAnswer(query: string): Uint8Array {
  const { response } = readJsonRecording<{ response: { value: string } }>(`chain/queries/${query}.json`);
  return Buffer.from(response.value, "base64");
}

interface RecordedMessage {
  readonly message: Message;
  readonly outcome: string;
  /** Without those of fee and signature. */
  readonly events: AbciEvent[];
  readonly txBytes: number;
  readonly gasUsed: number;
}

/** The first message of each transaction of a recorded block, and what came of it. */
function recordedMessages(path: string): RecordedMessage[] {
  const recorded = readJsonRecording<RecordedBlock>(`chain/${path}.json`);
  return recorded.block.block.data.txs.map((text, index) => {
    const tx = Buffer.from(text, "base64");
    const result = recorded.block_results.txs_results[index];
    const [message] = TxBody.decode(TxRaw.decode(tx).bodyBytes).messages;
    assert.ok(result && message);
    const own = result.events.filter(({ attributes }) => attributes.at(-1)?.key === "msg_index").slice(1);
    return {
      message,
      outcome: result.code === 0 ? "ok" : `${result.codespace}:${result.code}`,
      events: own.map(({ type, attributes }) => ({ type, attributes: attributes.slice(0, -1) })),
      txBytes: tx.length,
      gasUsed: Number(result.gas_used),
    };
  });
}

function recordedMessage(height: number): RecordedMessage {
  const [message] = recordedMessages(`blocks/${height}`);
  assert.ok(message);
  return message;
}

interface Step {
  readonly height: bigint;
  readonly message: Message;
}

/** Who did what at which height, read from what was left of it. */
function recordedSteps(): Step[] {
  const { deployments } = queryDeploymentsResponse.decode(recordedAnswer("akash.deployment.v1beta4.Query.Deployments"));
  const { bids } = queryBidsResponse.decode(recordedAnswer("akash.market.v1beta5.Query.Bids"));
  const { leases } = queryLeasesResponse.decode(recordedAnswer("akash.market.v1beta5.Query.Leases"));
  const steps = deployments.flatMap(({ deployment, groups, escrowAccount }): Step[] => {
    const bid = bids.find((each) => each.bid?.id?.dseq.eq(deployment?.id?.dseq ?? 0))?.bid;
    const lease = leases.find((each) => each.lease?.id?.dseq.eq(deployment?.id?.dseq ?? 0))?.lease;
    assert.ok(deployment && bid?.price && lease && escrowAccount?.state);
    const id = readBidId(bid.id);
    const closedOn = lease.closedOn.toBigInt();
    // The one that ran dry began with 1000; what the others began with went back to the tenant, whatever it was.
    const amount = lease.reason === 20000 ? 1000n : 5000n;
    const ends: Record<number, Step[]> = {
      1: [{ height: closedOn, message: closeDeployment(id) }],
      10002: [
        { height: closedOn - 3n, message: withdrawLease(id) },
        { height: closedOn, message: closeBid(id) },
        { height: escrowAccount.state.settledAt.toBigInt(), message: closeDeployment(id) },
      ],
      20000: [{ height: closedOn, message: withdrawLease(id) }],
    };
    const creation = {
      id,
      groups: groups.map(({ groupSpec }) => groupSpec).filter((spec) => spec !== undefined),
      hash: deployment.hash,
      deposit: deposit(amount, "uact"),
    };
    return [
      { height: deployment.createdAt.toBigInt(), message: createDeployment(creation) },
      {
        height: bid.createdAt.toBigInt(),
        message: createBid(id, { price: bid.price, wireOffer: bid.resourcesOffer }),
      },
      { height: lease.createdAt.toBigInt(), message: createLease(id) },
      ...(ends[lease.reason] ?? []),
    ];
  });
  return steps.sort((left, right) => Number(left.height - right.height));
}

function recordedStage(): MarketStage {
  const { accounts } = QueryAccountsResponse.decode(recordedAnswer("akash.escrow.v1.Query.Accounts"));
  const [provider = "", tenant = ""] = new Set(accounts.map(({ state }) => state?.owner ?? ""));
  return marketStage({
    height: 1n,
    people: [tenant, provider],
    registered: [provider],
    deploymentParams: {
      ...defaultDeploymentParams,
      minDeposits: [
        { denom: "uakt", amount: 500_000n },
        { denom: "uact", amount: 1000n },
      ],
    },
    marketParams: {
      ...defaultMarketParams,
      bidMinDeposits: [
        { denom: "uact", amount: 1000n },
        { denom: "uakt", amount: 1000n },
      ],
    },
  });
}

function goTo(stage: MarketStage, height: bigint): void {
  stage.passBlocks(height - stage.context.height);
}

test("the lab's five deployments end in the recorded answers to every query", () => {
  const stage = recordedStage();
  for (const { height, message } of recordedSteps()) {
    goTo(stage, height);
    stage.run(message);
  }
  for (const query of [
    "akash.deployment.v1beta4.Query.Deployments",
    "akash.deployment.v1beta4.Query.Params",
    "akash.market.v1beta5.Query.Orders",
    "akash.market.v1beta5.Query.Bids",
    "akash.market.v1beta5.Query.Leases",
    "akash.market.v1beta5.Query.Params",
    "akash.escrow.v1.Query.Accounts",
    "akash.escrow.v1.Query.Payments",
  ]) {
    const path = `/${query.replace(".Query.", ".Query/")}`;
    assert.deepEqual(Buffer.from(stage.query(path)), recordedAnswer(query), query);
  }
  assert.ok(QueryPaymentsResponse.decode(stage.query("/akash.escrow.v1.Query/Payments")).payments.length > 0);
});

test("every recorded transaction of tenant and provider has the recorded outcome and the recorded events", () => {
  const stage = recordedStage();
  const recordedAt = new Map([323, 337, 338, 339, 413].map((height) => [BigInt(height), recordedMessage(height)]));
  const rejectedAt = new Map([321, 322, 325].map((height) => [BigInt(height), recordedMessage(height)]));
  const seen: bigint[] = [];
  for (const { height, message } of recordedSteps()) {
    for (const [at, rejected] of rejectedAt) {
      if (at >= height || at < stage.context.height) continue;
      goTo(stage, at);
      assert.equal(
        outcomeOf(() => stage.run(rejected.message)),
        rejected.outcome,
      );
      rejectedAt.delete(at);
    }
    goTo(stage, height);
    const recorded = recordedAt.get(height);
    const events = stage.run(recorded?.message ?? message);
    if (!recorded) continue;
    assert.equal(recorded.outcome, "ok");
    assert.deepEqual(events, recorded.events, `block ${height}`);
    seen.push(height);
  }
  assert.deepEqual(seen, [...recordedAt.keys()]);
  assert.equal(rejectedAt.size, 0);
});

test("four recorded bids on one order end as they did on the real node: one lost, two left open and closed by hand", () => {
  const blocks = [372, 373, 376, 389, 391, 393].map((height) => recordedMessages(`losing-bids/${height}`));
  const [[creation] = [], bids = []] = blocks;
  assert.ok(creation);
  const bidders = bids.map(({ message }) => msgCreateBid.decode(message.value).id?.provider ?? "");
  const { id } = MsgCreateDeployment.decode(creation.message.value);
  const stage = marketStage({ height: 371n, people: [id?.owner ?? "", ...bidders], registered: bidders });
  for (const block of blocks) {
    stage.passBlocks();
    for (const { message, outcome, events } of block) {
      let happened: AbciEvent[] = [];
      assert.equal(
        outcomeOf(() => {
          happened = stage.run(message);
        }),
        outcome,
      );
      assert.deepEqual(happened, events);
    }
  }
  const list = queryBidsResponse.decode(stage.query("/akash.market.v1beta5.Query/Bids")).bids;
  assert.deepEqual(
    list.map(({ bid }) => bid?.state),
    [Bid_State.active, Bid_State.lost, Bid_State.closed, Bid_State.closed],
    "in the order of the list",
  );
});

test("what a message costs is close to what the real node charged for it", () => {
  const stage = recordedStage();
  // A transaction whose message found nothing shows what all of them cost beside their message.
  const empty = recordedMessage(325);
  const [gasPerByte, gasOfLookup] = [10, 1_200];
  const costs = new Map([323, 337, 338, 339, 413].map((height) => [BigInt(height), recordedMessage(height)]));
  for (const { height, message } of recordedSteps()) {
    goTo(stage, height);
    stage.run(message);
    const recorded = costs.get(height);
    if (!recorded) continue;
    const around = empty.gasUsed - gasOfLookup + gasPerByte * (recorded.txBytes - empty.txBytes);
    const share = (Number(stage.gasUsed) + around) / recorded.gasUsed;
    assert.ok(share > 0.85 && share < 1.15, `block ${height}: ${share.toFixed(2)} of what was charged`);
  }
});

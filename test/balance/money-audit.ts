/**
 * An auditor beside our provider. It reckons from the chain alone what every lease has earned, what came in and what was
 * paid, and compares that with the journal, to the last micro-unit.
 */
import assert from "node:assert/strict";
import { MsgWithdrawLease } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import type { AbciEvent } from "../../src/box/chain/abci.ts";
import type { Block } from "../../src/box/chain/node/block-store.ts";
import type { EscrowAccount, EscrowPayment, Lease } from "../../src/chain/records.ts";
import { runs } from "../../src/chain/records.ts";
import type { Journal } from "../../src/journal/journal.ts";
import type { LedgerKind } from "../../src/journal/ledger.ts";
import { amountOf, parseCoins } from "../../src/market/coin.ts";
import { type Decimal, decimalOf, mulDecimals, toInteger } from "../../src/market/decimal.ts";
import { type DeploymentId, formatBidId, formatLeaseId, type LeaseId, parseLeaseId } from "../../src/market/ids.ts";
import { largest, smallest } from "../../src/runtime/bigint.ts";
import { denoms, us } from "../support/money-chain.ts";
import { moneyOptions } from "../support/money-life.ts";
import type { MoneyStage } from "../support/stages/money-stage.ts";
import { messagesIn } from "../support/stages/outbox-stage.ts";

interface AuditRules {
  /** Dollars per AKT; undefined where our provider does not know it either. */
  readonly tokenPrice: Decimal | undefined;
  /** Blocks within which every escrow is looked at. */
  readonly intervalBlocks: number;
  /** What a withdrawal must bring, in uakt, beside more than its fee. */
  readonly leastGain: bigint;
  /** Blocks in which our provider may have been away. */
  readonly awayBlocks: number;
}

/** What was seen in all. */
interface AuditTally {
  audits: number;
  leases: number;
  /** Withdrawals that brought something home, and the smallest that one brought for each unit of its fee. */
  withdrawals: number;
  worstRatio: number;
  /** Withdrawals that ended a lease whose escrow was spent, and the most blocks that this took. */
  settling: number;
  slowest: number;
  /** Withdrawals that did not bring their fee, because of what others did after they were decided on. */
  excused: number;
  failedTxs: number;
}

/** Blocks that a transaction may take from the decision to its effect. */
const fewBlocks = 6;
/** Of one withdrawal that ends nothing; on this chain also one alone costs less. */
const reckonedFee = moneyOptions.fee?.amount ?? 0n;
const pageLines = 1_000;
const withdrawType = "/akash.market.v1beta5.MsgWithdrawLease";

export function createAuditor(stage: MoneyStage, rules: AuditRules) {
  const { queries } = stage;
  const tally: AuditTally = {
    audits: 0,
    leases: 0,
    withdrawals: 0,
    worstRatio: Number.POSITIVE_INFINITY,
    settling: 0,
    excused: 0,
    slowest: 0,
    failedTxs: 0,
  };
  const fees = new Map<string, bigint>();
  let seenBlocks = 0;
  let seenHeight = 0n;

  /** What the chain would have paid each payment of an account by this height, all settled then. */
  async function earnedAt(deployment: DeploymentId, height: bigint): Promise<ReadonlyMap<string, bigint>> {
    const { account, payments } = await accountAt(deployment, height);
    const left = new Map(account.funds.map(({ denom, amount }) => [denom, toInteger(amount, "truncate")]));
    const blocks = account.state === "open" ? height - account.settledAt : 0n;
    return new Map(
      payments.map((payment) => {
        const { denom } = payment.rate;
        const [due, funds] = [payment.state === "open" ? dueFor(payment, blocks) : 0n, left.get(denom) ?? 0n];
        const paid = due < funds ? due : funds;
        left.set(denom, funds - paid);
        return [payment.key, payment.withdrawn.amount + toInteger(payment.balance.amount, "truncate") + paid] as const;
      }),
    );
  }

  async function accountAt({ owner, dseq }: DeploymentId, height: bigint) {
    const id = { owner, dseq };
    const [deployment, listed] = await Promise.all([
      queries.deployment(id, { height }),
      queries.paymentsOf(id, { height }),
    ]);
    const account = deployment.value?.escrow;
    assert.ok(account, "every deployment has an account");
    const payments = [...listed.items].sort((a, b) => (a.key < b.key ? -1 : 1));
    return { account, payments };
  }

  /** Blocks for which the account has owed more than it has, at this height. */
  async function overdueAt(deployment: DeploymentId, height: bigint): Promise<number> {
    const { account, payments } = await accountAt(deployment, height);
    for (let late = 0; ; late++) if (!isSpent(account, payments, height - BigInt(late))) return late;
  }

  /**
   * Why a withdrawal need not have brought what it cost. In one of the blocks in which it may have been decided on the
   * escrow was spent, and a deposit has come since; or a new lease came, with which the chain loses what accrued.
   */
  async function isExcused(deployment: DeploymentId, height: bigint): Promise<boolean> {
    const counts = new Set<number>();
    for (let at = height - BigInt(fewBlocks); at <= height; at += 1n) {
      if ((await queries.deployment(deployment, { height: at })).value === undefined) continue;
      const { account, payments } = await accountAt(deployment, at);
      counts.add(payments.length);
      if (isSpent(account, payments, at)) return true;
    }
    return counts.size > 1;
  }

  async function auditWithdrawals(block: Block): Promise<void> {
    const { height } = block.header;
    const touched: bigint[] = [];
    for (const [index, tx] of block.txs.entries()) {
      const result = block.output.txResults[index];
      const bill = result && billOf(result.events);
      if (!bill) continue;
      fees.set("uakt", (fees.get("uakt") ?? 0n) + bill.fee);
      if (result.code !== 0) {
        tally.failedTxs += 1;
        continue;
      }
      const messages = messagesIn(tx);
      const gains: { readonly lease: LeaseId; readonly coins: readonly string[] }[] = [];
      for (const [place, { typeUrl, value }] of messages.entries()) {
        if (typeUrl !== withdrawType) continue;
        const lease = leaseIn(value);
        touched.push(lease.dseq);
        const { value: after } = await queries.lease(lease, { height });
        if (after?.state === "insufficient_funds" && after.closedOn === height) {
          tally.settling += 1;
          continue;
        }
        gains.push({ lease, coins: bill.received.get(place) ?? [] });
      }
      const share = bill.fee / BigInt(messages.length);
      // Beside what costs more, an equal share is more than what a withdrawal has added.
      const fee = gains.length === messages.length ? share : smallest(share, reckonedFee);
      for (const { lease, coins } of gains) await auditGain(lease, height, coins, fee);
    }
    assert.equal(new Set(touched).size, touched.length, `one withdrawal of a deployment in block ${height}`);
  }

  /** Where the price is not known, amounts of a denomination that is not the fee's cannot be weighed against it. */
  async function auditGain(lease: LeaseId, height: bigint, coins: readonly string[], fee: bigint): Promise<void> {
    const value = coins.flatMap(parseCoins).reduce((sum, { denom, amount }) => {
      if (denom === "uakt") return sum + amount;
      const price = rules.tokenPrice ?? decimalOf(1n);
      return sum + toInteger({ atto: (amount * 10n ** 36n) / price.atto }, "truncate");
    }, 0n);
    const least = largest(fee + 1n, rules.leastGain);
    if (value < least && (await isExcused(lease, height))) {
      tally.excused += 1;
      return;
    }
    const what = `${formatLeaseId(lease)} brought ${coins.join(" and ") || "nothing"} for ${fee}uakt in block ${height}`;
    assert.ok(value >= least, what);
    tally.withdrawals += 1;
    tally.worstRatio = Math.min(tally.worstRatio, Number((value * 100n) / fee) / 100);
  }

  return {
    tally: tally as Readonly<AuditTally>,
    /** While our provider rests at the height of the chain. */
    async audit({ read }: Pick<Journal, "read">): Promise<void> {
      const { height } = stage.node;
      for (const block of stage.blocks.slice(seenBlocks)) await auditWithdrawals(block);
      seenBlocks = stage.blocks.length;

      const leases = (await queries.leases({ provider: us }, { height })).items;
      const lines = linesOf(read);
      for (const lease of leases) await auditLease(lease, height, read, lines);
      assert.equal(read.payments.all().length, leases.length, "no lease is in the books that the chain does not have");
      await auditWallet(height, read, lines);
      tally.leases = leases.length;
      tally.audits += 1;
      seenHeight = height;
    },
  };

  async function auditLease(lease: Lease, height: bigint, read: Journal["read"], lines: Lines): Promise<void> {
    const key = formatLeaseId(lease.id);
    const row = read.payments.get(key);
    const { payment } = lease;
    assert.ok(row && payment, `lease ${key} is in the books`);
    const at = `${key} at ${height}, booked at ${row.height}`;
    assert.equal(row.withdrawn, payment.withdrawn.amount, `withdrawn of ${at}`);
    assert.equal(row.denom, payment.rate.denom);
    assert.equal(lines.get(`accrued ${key} ${row.denom}`) ?? 0n, row.accrued, `lines of what was accrued, ${at}`);
    assert.equal(lines.get(`withdrawn ${key} ${row.denom}`) ?? 0n, row.withdrawn, `lines of what came in, ${at}`);
    if (runs(lease)) {
      assert.equal(row.ended, undefined, at);
      assert.ok(height - row.height <= rules.intervalBlocks + fewBlocks, `looked at in time: ${at}`);
      const earned = (await earnedAt(lease.id, row.height)).get(payment.key);
      assert.equal(row.accrued, earned, `accrued of ${at}`);
      const overdue = await overdueAt(lease.id, height);
      assert.ok(overdue <= rules.awayBlocks + fewBlocks, `runs for nothing since ${overdue} blocks: ${at}`);
      return;
    }
    assert.ok(row.ended, `the end of ${at}`);
    assert.equal(row.accrued, payment.withdrawn.amount, `all that ${at} has earned has come in`);
    if (lease.state !== "insufficient_funds" || lease.closedOn <= seenHeight) return;
    const overdue = await overdueAt(lease.id, lease.closedOn - 1n);
    tally.slowest = Math.max(tally.slowest, overdue + 1);
    assert.ok(overdue <= rules.awayBlocks + fewBlocks, `ran for nothing for ${overdue} blocks: ${at}`);
    const closings = read.intents.about(key).filter(({ what }) => what === "closeBid" || what === "closeLease");
    assert.deepEqual(closings, [], "a lease whose escrow is spent is settled, not closed");
  }

  async function auditWallet(height: bigint, read: Journal["read"], lines: Lines): Promise<void> {
    const open = await Promise.all(
      (["open", "active"] as const).map(async (state) => {
        return (await queries.bids({ provider: us, state }, { height })).items;
      }),
    );
    const bids = open.flat();
    assert.deepEqual(
      read.deposits.all().map(({ bidId, denom, amount }) => `${bidId} ${amount}${denom}`),
      bids.flatMap(({ id, escrow }) => escrow?.funds.map(moneyOf).map((coin) => `${formatBidId(id)} ${coin}`)).sort(),
      "deposits that are out",
    );
    const wallet = (await queries.balances(us, { height })).items;
    for (const denom of denoms) {
      const sum = (kind: LedgerKind) => lines.get(`${kind} ${denom}`) ?? 0n;
      for (const kind of ["accrued", "withdrawn", "fee", "deposit", "refund"] as const) {
        const total = read.ledger.totals().find((each) => each.kind === kind && each.denom === denom)?.amount ?? 0n;
        assert.equal(total, sum(kind), `total of ${kind} in ${denom} at ${height}`);
      }
      assert.equal(sum("fee"), fees.get(denom) ?? 0n, `fees in ${denom} at ${height}`);
      const had = amountOf(stage.initialBalance, denom);
      const reckoned = had + sum("withdrawn") + sum("refund") - sum("deposit") - sum("fee");
      assert.equal(reckoned, amountOf(wallet, denom), `wallet in ${denom} at ${height}`);
    }
  }
}

/** Sums of the ledger's lines, by kind and denomination, and also by subject. */
type Lines = ReadonlyMap<string, bigint>;

function linesOf({ ledger }: Journal["read"]): Lines {
  const sums = new Map<string, bigint>();
  for (let last = 0; ; ) {
    const lines = ledger.after(last, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, pageLines);
    for (const { kind, subject, denom, amount } of lines) {
      // What accrued in a day may be lost again on the same day.
      assert.ok(amount !== 0n || kind === "accrued", "no line about nothing");
      for (const key of [`${kind} ${denom}`, `${kind} ${subject} ${denom}`]) {
        sums.set(key, (sums.get(key) ?? 0n) + amount);
      }
    }
    const end = lines.at(-1);
    if (!end) return sums;
    last = end.id;
  }
}

function dueFor({ rate }: EscrowPayment, blocks: bigint): bigint {
  return toInteger(mulDecimals(rate.amount, decimalOf(blocks)), "truncate");
}

function isSpent(account: EscrowAccount, payments: readonly EscrowPayment[], height: bigint): boolean {
  const blocks = height - account.settledAt;
  if (account.state !== "open" || blocks <= 0n) return false;
  return account.funds.some(({ denom, amount }) => {
    const drawing = payments.filter(({ state, rate }) => state === "open" && rate.denom === denom);
    return drawing.reduce((sum, payment) => sum + dueFor(payment, blocks), 0n) > toInteger(amount, "truncate");
  });
}

/** Undefined where another account paid for the transaction. */
function billOf(events: readonly AbciEvent[]) {
  const attribute = ({ attributes }: AbciEvent, name: string) => attributes.find(({ key }) => key === name)?.value;
  const paid = events.find((event) => event.type === "tx" && attribute(event, "fee") !== undefined);
  if (!paid || attribute(paid, "fee_payer") !== us) return undefined;
  const received = new Map<number, string[]>();
  for (const event of events) {
    const place = attribute(event, "msg_index");
    if (place === undefined || event.type !== "coin_received" || attribute(event, "receiver") !== us) continue;
    received.set(Number(place), [...(received.get(Number(place)) ?? []), attribute(event, "amount") ?? ""]);
  }
  const [fee] = parseCoins(attribute(paid, "fee") ?? "");
  return { fee: fee?.amount ?? 0n, received };
}

function leaseIn(message: Uint8Array): LeaseId {
  const { id } = MsgWithdrawLease.decode(message);
  return parseLeaseId(`${id?.owner}/${id?.dseq}/${id?.gseq}/${id?.oseq}/${id?.provider}`);
}

function moneyOf({ denom, amount }: { readonly denom: string; readonly amount: Decimal }): string {
  return `${toInteger(amount, "truncate")}${denom}`;
}

/** Money in the mirror. It moves without an event of the market, so that it differs is no fault, but somebody waits for it. */
import { formatDecimal } from "../../../market/decimal.ts";
import type { MirrorKey } from "../../chain.ts";
import type { Bid, Deployment, EscrowAccount, EscrowPayment, SignedDecCoin } from "../../records.ts";
import type { MirrorState } from "./mirror-state.ts";

/** Which figures of things in both states are not the same, and which balances are not. */
export function changedFigures(before: MirrorState, after: MirrorState): MirrorKey[] {
  const accounts = [...escrowPairs(before.bids, after.bids), ...escrowPairs(before.deployments, after.deployments)];
  const payments = [...after.leases].map(([key, { payment }]) => [before.leases.get(key)?.payment, payment] as const);
  const moved = [
    ...accounts.filter(([old, fresh]) => old && fresh && accountMark(old) !== accountMark(fresh)),
    ...payments.filter(([old, fresh]) => old && fresh && paymentMark(old) !== paymentMark(fresh)),
  ];
  const denoms = new Set([...before.balances.keys(), ...after.balances.keys()]);
  const amountIn = ({ balances }: MirrorState, denom: string) => balances.get(denom)?.amount ?? 0n;
  return [
    ...moved.flatMap(([, fresh]) => (fresh ? [{ kind: "escrow" as const, key: fresh.key }] : [])),
    ...[...denoms]
      .filter((denom) => amountIn(before, denom) !== amountIn(after, denom))
      .map((key) => ({ kind: "balance" as const, key })),
  ];
}

function escrowPairs(
  before: ReadonlyMap<string, Bid | Deployment>,
  after: ReadonlyMap<string, Bid | Deployment>,
): (readonly [EscrowAccount | undefined, EscrowAccount | undefined])[] {
  return [...after].map(([key, { escrow }]) => [before.get(key)?.escrow, escrow]);
}

/** What somebody has changed since `before` was copied is newer and stays; everything else takes the fresh figures. */
export function refreshFigures(state: MirrorState, before: MirrorState, fresh: MirrorState): MirrorKey[] {
  const refreshed: MirrorState = { ...before, bids: new Map(), leases: new Map(), deployments: new Map() };
  function refresh<T>(live: Map<string, T>, old: Map<string, T>, theirs: Map<string, T>, taken: Map<string, T>): void {
    for (const [key, record] of theirs) {
      if (live.get(key) === undefined || live.get(key) !== old.get(key)) continue;
      live.set(key, record);
      taken.set(key, record);
    }
  }
  refresh(state.bids, before.bids, fresh.bids, refreshed.bids);
  refresh(state.leases, before.leases, fresh.leases, refreshed.leases);
  refresh(state.deployments, before.deployments, fresh.deployments, refreshed.deployments);
  const isSame = [...state.balances].every(([denom, each]) => before.balances.get(denom) === each);
  if (!isSame || state.balances.size !== before.balances.size) return changedFigures(before, refreshed);
  state.balances.clear();
  for (const [denom, balance] of fresh.balances) state.balances.set(denom, balance);
  return changedFigures(before, { ...refreshed, balances: fresh.balances });
}

function accountMark({ state, settledAt, funds, transferred }: EscrowAccount): string {
  return [state, settledAt, ...funds.map(coinMark), "transferred", ...transferred.map(coinMark)].join(" ");
}

function paymentMark({ state, rate, balance, unsettled, withdrawn }: EscrowPayment): string {
  return [state, ...[rate, balance, unsettled].map(coinMark), withdrawn.amount, withdrawn.denom].join(" ");
}

function coinMark({ denom, amount }: SignedDecCoin): string {
  return `${formatDecimal(amount)}${denom}`;
}

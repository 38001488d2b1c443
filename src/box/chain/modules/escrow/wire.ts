/** Accounts and payments as they travel. */
import {
  Scope as Scopes,
  type Types_Account as WireAccount,
  Types_Account as WireAccountCodec,
  type Account as WireAccountId,
  type Types_Payment as WirePayment,
  Types_Payment as WirePaymentCodec,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Coin } from "../../../../market/coin.ts";
import type { EscrowAccountKey } from "../../../../market/escrow-arithmetic.ts";
import { writeCoin, writePrice } from "../../coins.ts";
import { isAddress } from "../../errors.ts";
import { escrowError } from "./errors.ts";
import { splitAccountKey, splitPaymentKey } from "./ids.ts";
import { depositSources, type EscrowAccount, escrowStates, type Payment } from "./records.ts";

const mostUint64 = 2n ** 64n - 1n;
const mostUint32 = 2n ** 32n - 1n;

export function writeAccount(account: EscrowAccount): WireAccount {
  const { key, owner, state, transferred, settledAt, funds, deposits } = account;
  return WireAccountCodec.fromPartial({
    id: writeAccountKey(key),
    state: {
      owner,
      state: escrowStates[state],
      transferred: transferred.map(writeCoin),
      settledAt,
      funds: funds.map(writeCoin),
      deposits: deposits.map(({ owner, height, source, balance }) => ({
        owner,
        height,
        source: depositSources[source],
        balance: writeCoin(balance),
      })),
    },
  });
}

export function writePayment(payment: Payment): WirePayment {
  const { key, owner, state, rate, balance, unsettled, withdrawn } = payment;
  const { account, xid } = splitPaymentKey(key);
  const coin = (amount: bigint): Coin => ({ denom: rate.denom, amount });
  return WirePaymentCodec.fromPartial({
    id: { aid: writeAccountKey(account), xid },
    state: {
      owner,
      state: escrowStates[state],
      rate: writePrice(rate),
      balance: writeCoin(coin(balance)),
      unsettled: writeCoin(coin(unsettled)),
      withdrawn: writeCoin(coin(withdrawn)),
    },
  });
}

function writeAccountKey(key: EscrowAccountKey): WireAccountId {
  const { scope, xid } = splitAccountKey(key);
  return { scope: Scopes[scope], xid };
}

/** The parts of an xid, each with what it must be. */
const shapes = {
  deployment: ["owner", "dseq"],
  bid: ["owner", "dseq", "gseq", "oseq", "provider"],
} as const;

const checks: Record<(typeof shapes.bid)[number], (part: string) => boolean> = {
  owner: isAddress,
  dseq: (part) => isUint(part, mostUint64),
  gseq: (part) => isUint(part, mostUint32),
  oseq: (part) => isUint(part, mostUint32),
  provider: isAddress,
};

export function readAccountKey(wire: WireAccountId | undefined): EscrowAccountKey {
  const scope = wire?.scope === Scopes.deployment ? "deployment" : wire?.scope === Scopes.bid ? "bid" : undefined;
  if (!wire || !scope) throw escrowError("invalidId", "invalid scope");
  const parts = wire.xid.split("/");
  const shape = shapes[scope];
  if (parts.length !== shape.length) throw escrowError("invalidId", "invalid xid format");
  for (const [index, name] of shape.entries()) {
    const part = parts[index] ?? "";
    if (!checks[name](part)) throw escrowError("invalidId", `invalid xid/${name}: "${part}"`);
  }
  return `${scope}/${wire.xid}`;
}

function isUint(text: string, most: bigint): boolean {
  return /^\d{1,20}$/.test(text) && BigInt(text) <= most;
}

/**
 * Actions that a grantee may take for a granter: deposit up to a limit, or send any message of one kind. Of the chain's other
 * kinds (sending, staking) none is known here.
 */
import { DepositAuthorization, DepositAuthorization_Scope } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { GenericAuthorization, Coin as WireCoin } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { amountOf, type Coin, sumCoins } from "../../../../market/coin.ts";
import { smallest } from "../../../../runtime/bigint.ts";
import { extended, generated, repeated } from "../../../../runtime/protobuf.ts";
import { areValidCoins, isDenom, readCoins, writeCoin, writeCoins } from "../../coins.ts";
import { sdkError, uncoded } from "../../errors.ts";
import { escrowError } from "../escrow/errors.ts";
import type { AccountScope } from "../escrow/ids.ts";

export type Authorization = DepositLimits | AnyOfOneKind;

export interface DepositLimits {
  readonly kind: "deposit";
  readonly scopes: readonly AccountScope[];
  readonly limits: readonly Coin[];
}

interface AnyOfOneKind {
  readonly kind: "generic";
  readonly msgTypeUrl: string;
}

/** What came over the wire; an Any of protobuf. */
export interface Packed {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

const depositUrl = "/akash.escrow.v1.DepositAuthorization";
const genericUrl = "/cosmos.authz.v1beta1.GenericAuthorization";
/** A grant to deposit is filed under this message, also when it is used for a new deployment or bid. */
export const depositMessageUrl = "/akash.escrow.v1.MsgAccountDeposit";

/** The npm package knows of one limit to what may be deposited for others; the chain has one for each denom now. */
export const depositAuthorization = extended(DepositAuthorization, { spendLimits: repeated(3, generated(WireCoin)) });

/** Before anything else is looked at: an authorization of an unknown kind makes the whole transaction unreadable. */
export function checkKind(packed: Packed | undefined): void {
  if (packed?.typeUrl === depositUrl || packed?.typeUrl === genericUrl) return;
  throw new Error(`unable to resolve type URL ${packed?.typeUrl ?? ""}`);
}

export function readAuthorization({ typeUrl, value }: Packed): Authorization {
  if (typeUrl === depositUrl) return readDepositLimits(value);
  const { msg } = GenericAuthorization.decode(value);
  if (msg === "") throw uncoded("msg type cannot be empty");
  return { kind: "generic", msgTypeUrl: msg };
}

function readDepositLimits(value: Uint8Array): DepositLimits {
  const { scopes, spendLimit, spendLimits } = depositAuthorization.decode(value);
  if (scopes.length === 0) throw escrowError("invalidAuthzScope", "empty scope");
  const named = scopes.map((scope, index) => {
    const name = DepositAuthorization_Scope[scope] ?? `${scope}`;
    if (name !== "deployment" && name !== "bid") {
      throw escrowError("invalidAuthzScope", `invalid scope "${name}"`);
    }
    if (scopes.indexOf(scope) !== index) throw escrowError("invalidAuthzScope", `duplicate scope "${name}"`);
    return name;
  });
  if (spendLimit && spendLimit.amount !== "") {
    if (!isDenom(spendLimit.denom)) throw sdkError("invalidCoins", "spend limit is not valid");
    if (spendLimit.amount !== "0") {
      throw sdkError("invalidCoins", "spend limit is deprecated and must be zero");
    }
  }
  const limits = readCoins(spendLimits);
  if (!areValidCoins(limits)) throw sdkError("invalidCoins", "spend limits are not valid");
  return { kind: "deposit", scopes: named, limits };
}

export function writeAuthorization(authorization: Authorization): Packed {
  if (authorization.kind === "generic") {
    return { typeUrl: genericUrl, value: GenericAuthorization.encode({ msg: authorization.msgTypeUrl }).finish() };
  }
  const scopes = authorization.scopes.map((scope) => DepositAuthorization_Scope[scope]);
  const spendLimit = writeCoin({ denom: "uakt", amount: 0n });
  const spendLimits = writeCoins(authorization.limits);
  return { typeUrl: depositUrl, value: depositAuthorization.encode({ spendLimit, scopes, spendLimits }) };
}

export function messageUrlOf(authorization: Authorization): string {
  return authorization.kind === "generic" ? authorization.msgTypeUrl : depositMessageUrl;
}

/** As much of the coin as the limit allows, and the limits after that. */
export function spend(granted: DepositLimits, { denom, amount }: Coin): { spent: bigint; left: DepositLimits } {
  const limit = amountOf(granted.limits, denom);
  const spent = smallest(limit, amount);
  const others = granted.limits.filter((coin) => coin.denom !== denom);
  return { spent, left: { ...granted, limits: sumCoins([...others, { denom, amount: limit - spent }]) } };
}

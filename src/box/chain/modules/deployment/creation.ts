import type { DeploymentReclamation, MsgCreateDeployment } from "../../../../chain/codec/wire-messages.ts";
import { type Coin, formatCoin } from "../../../../market/coin.ts";
import { uncoded } from "../../errors.ts";
import { readDeploymentId } from "../../market-ids.ts";
import type { Context } from "../../module.ts";
import { authorizeDeposit, readDeposit } from "../escrow/deposits.ts";
import type { Deposit } from "../escrow/records.ts";
import { deploymentError } from "./errors.ts";
import { complete, priceOf, validateGroup, validateGroups } from "./group-spec.ts";
import { type Deployment, findDeployment, type Group } from "./records.ts";

type Creation = ReturnType<typeof readCreation>;

/** Governance parameters of the deployment module. */
export interface DeploymentParams {
  /** The smallest first deposit, for each denom that may be deposited at all. */
  readonly minDeposits: readonly Coin[];
  /**
   * What deployments may be begun, priced and paid in. The chain takes uact alone, so uakt may be added to an account
   * later, never begin it; before there was uact it was uakt.
   */
  readonly priceDenoms: readonly string[];
}

export const defaultDeploymentParams: DeploymentParams = {
  minDeposits: [
    { denom: "uakt", amount: 500_000n },
    { denom: "uact", amount: 500_000n },
  ],
  priceDenoms: ["uact"],
};

export interface WindowBounds {
  readonly least: bigint;
  readonly most: bigint;
}

/** SHA-256. */
const hashBytes = 32;

export function readCreation(message: MsgCreateDeployment) {
  const { groups, hash, reclamation } = message;
  const id = readDeploymentId(message.id);
  const deposit = readDeposit(message.deposit);
  if (groups.length === 0) throw deploymentError("invalidGroups");
  checkHash(hash);
  if (reclamation && reclamation.minWindowNs < 0n) {
    throw deploymentError("invalidReclamation", "min_window must be >= 0");
  }
  for (const group of groups) {
    validateGroup(group);
    const { denom } = priceOf(group);
    if (deposit.amount === 0n || denom === deposit.denom) continue;
    throw deploymentError("invalidDeposit", `Mismatched denominations (${deposit.denom} != ${denom})`);
  }
  return { id, groups, hash, deposit, reclamation };
}

export function checkHash(hash: Uint8Array): void {
  if (hash.length === 0) throw deploymentError("emptyHash");
  if (hash.length !== hashBytes) throw deploymentError("invalidHash");
}

export function checkCreation(
  context: Context,
  { id, groups, hash, deposit, reclamation }: Creation,
  params: DeploymentParams,
  window: WindowBounds,
): { deployment: Deployment; groups: Group[]; deposits: Deposit[] } {
  if (findDeployment(context, id)) throw deploymentError("deploymentExists");
  checkMinimum(deposit, params);
  if (reclamation) checkWindow(reclamation, window);
  validateGroups(groups);
  const denom = groups[0] && priceOf(groups[0]).denom;
  if (denom === undefined || !params.priceDenoms.includes(denom))
    throw deploymentError("invalidPrice", `unsupported denomination ${denom}`);
  const deposits = authorizeDeposit(context, id.owner, "deployment", deposit);
  const createdAt = context.height;
  return {
    deployment: { id, state: "active", hash, createdAt, reclamation },
    groups: groups.map((spec, index) => ({
      id: { ...id, gseq: index + 1 },
      state: "open",
      spec: complete(spec),
      createdAt,
    })),
    deposits,
  };
}

function checkMinimum(deposit: Coin, { minDeposits, priceDenoms }: DeploymentParams): void {
  const minimum = minDeposits.find(({ denom }) => denom === deposit.denom);
  if (!minimum) throw uncoded(`Deposit invalid: Invalid deposit denomination ${deposit.denom}`);
  if (deposit.amount < minimum.amount) {
    throw deploymentError("invalidDeposit", `Deposit too low - ${deposit.amount} < ${formatCoin(minimum)}`);
  }
  if (deposit.denom === "uakt" && !priceDenoms.includes("uakt")) throw deploymentError("invalidDeposit");
}

function checkWindow({ minWindowNs }: DeploymentReclamation, { least, most }: WindowBounds): void {
  if (minWindowNs < least) throw deploymentError("invalidReclamation", "min_window below governance minimum");
  if (minWindowNs > most) throw deploymentError("invalidReclamation", "min_window above governance maximum");
}

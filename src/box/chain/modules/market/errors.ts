/** Errors of the market module. */
import { codespace } from "../../errors.ts";

export const marketError = codespace("market", {
  attributeMismatch: [5, "attribute mismatch"],
  unknownBid: [6, "unknown bid"],
  unknownLease: [7, "unknown lease"],
  unknownLeaseForBid: [8, "unknown lease for bid"],
  unknownOrderForBid: [9, "unknown order for bid"],
  leaseNotActive: [10, "lease not active"],
  bidNotActive: [11, "bid not active"],
  bidNotOpen: [12, "bid not open"],
  orderNotOpen: [13, "bid: order not open"],
  orderNotFound: [15, "invalid order: order not found"],
  groupNotFound: [16, "group not found"],
  groupNotOpen: [17, "group not open"],
  bidNotFound: [18, "invalid bid: bid not found"],
  bidZeroPrice: [19, "invalid bid: zero price"],
  leaseNotFound: [20, "invalid lease: lease not found"],
  bidExists: [21, "invalid bid: bid exists from provider"],
  invalidPrice: [22, "bid price is invalid"],
  orderActive: [23, "order active"],
  orderClosed: [24, "order closed"],
  unknownProvider: [30, "unknown provider"],
  capabilitiesMismatch: [32, "capabilities mismatch"],
  invalidLeaseClosedReason: [33, "invalid lease closed reason"],
  leaseNotReclaimable: [35, "lease does not have reclamation configured"],
  reclamationNotStarted: [37, "reclamation not started; call MsgLeaseStartReclaim first"],
  reclamationWindowNotElapsed: [38, "reclamation window has not elapsed"],
  reclamationWindowInvalid: [39, "reclamation window outside governance bounds"],
  reclamationRequired: [40, "order requires reclamation but bid does not offer it"],
  reclamationWindowTooShort: [41, "reclamation window shorter than order minimum"],
});

export function must<T>(found: T | undefined, error: Parameters<typeof marketError>[0]): T {
  if (found === undefined) throw marketError(error);
  return found;
}

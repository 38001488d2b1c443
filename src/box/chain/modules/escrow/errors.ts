/** Errors of the escrow module. */
import { codespace } from "../../errors.ts";

export const escrowError = codespace("escrow", {
  accountExists: [1, "account exists"],
  accountClosed: [2, "account closed"],
  accountNotFound: [3, "account not found"],
  accountOverdrawn: [4, "account overdrawn"],
  invalidDenomination: [5, "invalid denomination"],
  paymentExists: [6, "payment exists"],
  paymentClosed: [7, "payment closed"],
  paymentNotFound: [8, "payment not found"],
  paymentRateZero: [9, "payment rate zero"],
  invalidId: [12, "invalid ID"],
  unauthorizedDepositScope: [15, "unauthorized deposit scope"],
  invalidDeposit: [16, "invalid deposit"],
  invalidAuthzScope: [17, "invalid authz scope"],
});

/** Errors of the deposit type, which Akash's modules share. */
export const depositError = codespace("akash", {
  invalidDepositSource: [4, "invalid deposit source"],
});

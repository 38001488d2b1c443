/** What the chain shows of one lease's money: what the books are compared with. */
import type { PaymentEnd } from "../journal/payments.ts";
import type { LeaseId } from "../market/ids.ts";

export interface Figures {
  readonly lease: LeaseId;
  readonly denom: string;
  /** Per block, as the chain writes decimals. */
  readonly rate: string;
  /** All that it has earned up to this height, and all of that which has come in. */
  readonly accrued: bigint;
  readonly withdrawn: bigint;
  readonly height: bigint;
  /** The time of that block. */
  readonly timeMs: number;
  /** The first height at which its escrow no longer pays all that draws on it; undefined once it has ended. */
  readonly spentAt: bigint | undefined;
  readonly ended: PaymentEnd["how"] | undefined;
}

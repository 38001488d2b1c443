/** The bid engine as those see it who ask it something or steer it: commands, the gateway, the live view. */
import type { OperatorSwitch } from "../journal/deadlines.ts";
import type { Decision } from "./decision/decision.ts";
import type { BidRequest } from "./decision/inputs.ts";
import type { WalletNeed } from "./decision/money-checks.ts";
import type { OrderLine, OrderReport } from "./order-report.ts";

export interface BidEngine {
  /** Bids on nothing new, at once or from a time on, until `resume`; also after a restart. What is bid stays bid. */
  pause(reason: string, fromMs?: number): Promise<OperatorSwitch>;
  /** What would be in force after that. */
  wouldPause(reason: string, fromMs?: number): Pick<OperatorSwitch, "reason" | "fromMs">;
  /** False when it was not paused. */
  resume(): Promise<boolean>;
  readonly paused: OperatorSwitch | undefined;
  /** How many orders we are at: those that are looked at now, and those with a bid of ours that is open. */
  readonly inFlight: number;
  /** What the next bid wants of the wallet, by denomination; while it has less of any, nothing is bid. */
  needs(): readonly WalletNeed[];
  /** The orders seen last, the newest first. */
  orders(limit: number): readonly OrderLine[];
  order(orderId: string): OrderLine | undefined;
  /** All that is known of an order, or of those of a deployment: "owner/dseq" or "owner/dseq/gseq/oseq". */
  why(id: string): readonly OrderReport[];
  /** What would be decided on such an order now. Nothing is taken, written or sent. */
  screen(asked: BidRequest, signal?: AbortSignal): Promise<Decision>;
  /** The same as long as no order waits to be decided on; undefined where one did, or came before the answer was there. */
  screenBetweenOrders(asked: BidRequest, signal: AbortSignal): Promise<Decision | undefined>;
  /** Told the id of every order about which there is news; what it returns ends that. */
  onNews(listener: (orderId: string) => void): () => void;
}

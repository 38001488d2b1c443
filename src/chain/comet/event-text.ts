/** An event in one line, for people. */
import { showDecCoin } from "../../market/coin.ts";
import { formatBidId, formatDeploymentId, formatGroupId, formatOrderId } from "../../market/ids.ts";
import { formatTime, nsToMs } from "../../runtime/clock.ts";
import type { ChainBlock, EventSource, MarketEvent } from "../block.ts";

/** "LeaseCreated": "lease created". */
function nameOf({ kind }: MarketEvent): string {
  return kind.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** "order created      akash1…/1794730957394/1/1" */
export function showEvent(event: MarketEvent): string {
  return `${nameOf(event).padEnd(23)} ${detailsOf(event)}`.trimEnd();
}

function detailsOf(event: MarketEvent): string {
  switch (event.kind) {
    case "DeploymentCreated":
    case "DeploymentUpdated":
      return `${formatDeploymentId(event.id)}  manifest ${Buffer.from(event.hash).toString("hex").slice(0, 16)}`;
    case "DeploymentClosed":
      return formatDeploymentId(event.id);
    case "GroupStarted":
    case "GroupPaused":
    case "GroupClosed":
      return formatGroupId(event.id);
    case "OrderCreated":
    case "OrderClosed":
      return formatOrderId(event.id);
    case "BidCreated":
    case "LeaseCreated":
      return `${formatBidId(event.id)}  ${showDecCoin(event.price)} a block`;
    case "BidClosed":
      return formatBidId(event.id);
    case "LeaseClosed":
      return `${formatBidId(event.id)}  reason ${event.reason}`;
    case "LeaseReclaimStarted":
      return `${formatBidId(event.id)}  reason ${event.reason}, until ${formatTime(Number(event.deadline) * 1_000)}`;
    case "ProviderCreated":
    case "ProviderUpdated":
    case "ProviderDeleted":
      return event.owner;
    case "TrustedAuditorCreated":
    case "TrustedAuditorDeleted":
      return `${event.owner}  auditor ${event.auditor}`;
  }
}

/** "337 2026-11-15T08:22:38.000Z tx 0" in front of each event of a block. */
export function showBlock({ height, timeNs, events }: ChainBlock): string[] {
  const time = formatTime(nsToMs(timeNs));
  return events.map(({ source, event }) => `${height} ${time} ${sourceText(source).padEnd(5)} ${showEvent(event)}`);
}

function sourceText(source: EventSource): string {
  return typeof source === "number" ? `tx ${source}` : source;
}

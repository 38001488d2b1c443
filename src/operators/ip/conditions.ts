/** What an operator should know of leased addresses that no look at a single one tells. */

import type { EventRecorder, EventToRecord } from "../../kube/event-recorder.ts";
import { apiVersionOf, kinds } from "../../kube/kinds.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import type { AddressReport } from "./address-loop.ts";
import type { CountsCheck } from "./metallb-counts.ts";
import type { OwnRange } from "./own-range.ts";
import type { Supply } from "./supply.ts";
import type { IpView } from "./view.ts";

interface Overall {
  readonly view: IpView;
  readonly range: OwnRange;
  readonly supply: Supply;
  readonly check: CountsCheck | undefined;
}

export function* overallConditions({ view, range, supply, check }: Overall): Iterable<Condition> {
  const stale = view.unavailableReason ?? view.controllerUnknown;
  if (stale !== undefined) yield condition("Stale", stale);
  const short = supply.shortage();
  if (short) yield condition(short.type, short.error.message);
  yield* check?.conditions ?? [];
  if (range.ranges.length > 0) yield* outsideRange(view, range);
  yield* unmarked(view);
  yield* acrossOwners(view);
}

function* outsideRange(view: IpView, range: OwnRange): Iterable<Condition> {
  for (const { own } of view.pools.list()) {
    if (own?.key === undefined || range.isInRange(own.address)) continue;
    const message = `${own.address} is in use and not in ${range.text}`;
    yield condition("OutsideRange", message, { subject: own.key });
  }
}

/** Whose it was cannot be known: had it Services still, it would have been put right. */
function* unmarked(view: IpView): Iterable<Condition> {
  for (const { name, own } of view.pools.list()) {
    if (!own || own.key !== undefined) continue;
    const message = `IPAddressPool ${name} has lost its labels or annotation, and holds ${own.address}`;
    yield condition("CleanUpFailed", message, { subject: name });
  }
}

function* acrossOwners(view: IpView): Iterable<Condition> {
  const owners = new Map<string, string>();
  for (const { addresses, ours } of view.balancers.list()) {
    if (!ours) continue;
    const { owner } = ours.lease;
    for (const address of addresses) {
      const other = owners.get(address);
      if (other !== undefined && other !== owner)
        yield condition("SharedAcrossOwners", `${address} is ${other}'s too`, { subject: ours.key });
      owners.set(address, owner);
    }
  }
}

interface ConditionEventsDeps {
  readonly recorder: Pick<EventRecorder, "record">;
  readonly view: Pick<IpView, "declared" | "addressOf">;
  readonly manifestNamespace: string;
}

export function recordEvents(
  { conditions, ports, assigned }: AddressReport,
  { recorder, view, manifestNamespace: namespace }: ConditionEventsDeps,
): void {
  const { providerLeasedIp: kind } = kinds;
  function record(name: string, occurrence: Pick<EventToRecord, "type" | "reason" | "note">): void {
    const uid = view.declared.get({ namespace, name })?.uid;
    const at = { namespace, name, ...(uid !== undefined && { uid }) };
    const regarding = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...at };
    recorder.record({ regarding, action: "Assign", ...occurrence });
  }
  for (const { type, subject, message } of conditions) {
    // What lasts longer becomes a shortage.
    if (type === "AddressPending") continue;
    // A refusal is about one resource; all else is about the key, and told of the first that asks for it.
    const name = type === "Refused" ? subject : ports[0]?.resource;
    if (name !== undefined) record(name, { type: "Warning", reason: type, note: message });
  }
  for (const port of assigned) {
    const note = `${view.addressOf(port)} port ${port.externalPort}/${port.protocol}`;
    record(port.resource, { type: "Normal", reason: "AddressAssigned", note });
  }
}

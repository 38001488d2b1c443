/** Conditions of all leased addresses together, and Events about single ones. */
import type { EventRecorder, EventToRecord } from "../../kube/event-recorder.ts";
import { apiVersionOf, kinds } from "../../kube/kinds.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import type { AddressReport } from "./address-loop.ts";
import type { CountsCheck } from "./metallb-counts.ts";
import type { OwnRange } from "./own-range.ts";
import type { Supply } from "./supply.ts";
import type { IpDeps, IpView } from "./view.ts";

export function* overallConditions(
  view: IpView,
  range: OwnRange,
  supply: Supply,
  check: CountsCheck | undefined,
): Iterable<Condition> {
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

/** Its key is unknown: with Services left, the pool would have been repaired. */
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

export function recordEvents(
  { conditions, ports, assigned }: AddressReport,
  recorder: Pick<EventRecorder, "record">,
  { view, manifestNamespace: namespace }: Pick<IpDeps, "view" | "manifestNamespace">,
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
    // A rejection is about one resource; all else is about the key, and recorded for its first resource.
    const name = type === "Refused" ? subject : ports[0]?.resource;
    if (name !== undefined) record(name, { type: "Warning", reason: type, note: message });
  }
  for (const port of assigned) {
    const note = `${view.addressOf(port)} port ${port.externalPort}/${port.protocol}`;
    record(port.resource, { type: "Normal", reason: "AddressAssigned", note });
  }
}

/** What becomes of an address, as Kubernetes Events of the resources that ask for it. */
import type { EventRecorder, Occurrence } from "../../kube/event-recorder.ts";
import { apiVersionOf, kinds } from "../../kube/kinds.ts";
import type { Looked } from "./address-loop.ts";
import type { IpView } from "./view.ts";

interface ConditionEventsDeps {
  readonly recorder: Pick<EventRecorder, "record">;
  readonly view: Pick<IpView, "declared" | "addressOf">;
  readonly manifestNamespace: string;
}

export function recordLook(
  { conditions, ports, assigned }: Looked,
  { recorder, view, manifestNamespace: namespace }: ConditionEventsDeps,
): void {
  const { providerLeasedIp: kind } = kinds;
  function record(name: string, occurrence: Pick<Occurrence, "type" | "reason" | "note">): void {
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

/** Conditions of an address become Kubernetes Events of the resource that asks for it. */
import type { EventRecorder } from "../../kube/event-recorder.ts";
import { apiVersionOf, kinds } from "../../kube/kinds.ts";
import type { Condition } from "./condition.ts";
import type { LeasedPort } from "./leased-port.ts";
import type { IpView } from "./view.ts";

interface ConditionEventsDeps {
  readonly recorder: Pick<EventRecorder, "record">;
  readonly view: Pick<IpView, "declared">;
  readonly manifestNamespace: string;
}

export function recordConditions(
  conditions: readonly Condition[],
  ports: readonly LeasedPort[],
  { recorder, view, manifestNamespace: namespace }: ConditionEventsDeps,
): void {
  const { providerLeasedIp: kind } = kinds;
  for (const { type, subject, message } of conditions) {
    if (type === "AddressPending") continue;
    // A refusal is about one resource; all else is about the key, and told of the first that asks for it.
    const name = type === "Refused" ? subject : ports[0]?.resource;
    if (name === undefined) continue;
    const uid = view.declared.get({ namespace, name })?.uid;
    const at = { namespace, name, ...(uid !== undefined && { uid }) };
    const regarding = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...at };
    recorder.record({ regarding, type: "Warning", reason: type, action: "Assign", note: message });
  }
}

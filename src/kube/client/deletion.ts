/** Takes one object away. What became of a try whose answer was lost is seen in what the next one is told. */
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { type Kind, kinds, objectText } from "../kinds.ts";
import type { DeleteOptions, ObjectAt } from "../kube.ts";
import { objectPath } from "./paths.ts";
import type { Requests } from "./requests.ts";

export async function deleteObject(
  requests: Requests,
  kind: Kind,
  at: ObjectAt,
  options: DeleteOptions,
): Promise<boolean> {
  const { uid } = options;
  // By its name alone, a second try could take along the namespace of somebody who came after.
  invariant(kind !== kinds.namespace || uid, "a namespace is deleted by its uid", { name: at.name });
  const asked = { verb: "delete", resource: objectText(kind, at), ...requests.begin(options) };
  let lost = false;
  const onLost = () => {
    lost = true;
  };
  try {
    const body = deleteBody(options);
    await requests.json({ ...asked, method: "DELETE", path: objectPath(kind, at), body, onLost });
    return true;
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) return lost;
    // Another one has the name by now: the one that was meant is gone.
    if (lost && ProviderError.is(thrown, "AKP_KUBE_OTHER_UID")) return true;
    throw thrown;
  }
}

function deleteBody({
  uid,
  resourceVersion,
  propagation = "Background",
  graceSeconds,
  dryRun,
}: DeleteOptions): unknown {
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    propagationPolicy: propagation,
    preconditions: { uid, resourceVersion },
    gracePeriodSeconds: graceSeconds,
    ...(dryRun && { dryRun: ["All"] }),
  };
}

/** What happened to a lease and what happens to it, each in a frame of its own. */
import type { Address } from "../../market/address.ts";
import { bidOn } from "../../market/ids.ts";
import { goJson } from "../../market/sorted-json.ts";
import type { StreamRoute } from "../rest/route.ts";
import type { TenantEvent, TenantPods } from "../tenant-side.ts";
import { closeCodes } from "./close-codes.ts";
import { permittedServices, readStreamParameters } from "./stream-parameters.ts";

interface EventsRouteDeps {
  readonly provider: Address;
  readonly pods: Pick<TenantPods, "events">;
}

const scope = "events";

export function eventsRoute({ provider, pods }: EventsRouteDeps): StreamRoute {
  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/kubeevents", access: "stream", scope },
    about:
      "What happened to the pods of a lease and what is done for it; with `follow`, also what happens from then on.",
    answers: {
      101: "A WebSocket with one event in each frame.",
      400: "The parameters make no sense, or it is no WebSocket.",
      401: "Not the lease's owner, or not for this.",
    },
    prepare({ query, identity, owner, dseq, gseq, oseq }) {
      const asked = readStreamParameters(query);
      if ("status" in asked) return asked;
      const lease = bidOn({ owner, dseq, gseq, oseq }, provider);
      const services = permittedServices(asked.services, identity.servicesOf(lease, scope));
      return async ({ send, signal }) => {
        for await (const batch of pods.events(lease, { services, follow: asked.follow, signal })) {
          for (const event of batch) {
            await send(frameOf(event));
            if (signal.aborted) break;
          }
        }
        return { code: closeCodes.done };
      };
    },
  };
}

/** As Go writes it; who did not give its name has none. */
function frameOf({ type, reportingController, reportingInstance, reason, note, object }: TenantEvent): string {
  const { kind, namespace, name } = object;
  const text = goJson({
    type,
    ...(reportingController !== "" && { reportingController }),
    ...(reportingInstance !== "" && { reportingInstance }),
    ...{ reason, note, object: { kind, namespace, name } },
  });
  return `${text}\n`;
}
